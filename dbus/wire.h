#pragma once

#include <sdbus-c++/Message.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dbus/calls.h"
#include "dbus/fit.h"
#include "run/report.h"
#include "run/status.h"

namespace corral::dbus {

// systemd's way to write a limit that is none.
inline uint64_t limit(const std::optional<std::chrono::microseconds>& span) {
  return span ? static_cast<uint64_t>(span->count()) : UINT64_MAX;
}

// The domain's values as arguments of a message, written straight into it (an sdbus::Variant a
// value would cost 4 us each). Strings that are not UTF-8 are escaped, absent values left out, and
// an absent limit of a status is UINT64_MAX, as the property has it.

// Where every run lies so far.
inline constexpr const char* kPlacement = "group";

void append_text(sdbus::Message& message, const std::string& text);
void append_report(sdbus::Message& message, const run::Report& report);  // a{sv}
void append_status(sdbus::Message& message, const run::Status& status);  // a{sv}
void append_runs(sdbus::Message& message,
                 std::span<const run::Status* const> runs);  // a(ssosa{sv})
void append_ended(sdbus::Message& message, std::span<const EndedRow> rows);
void append_rows(sdbus::Message& message, std::span<const run::Process> rows);  // aa{sv}
void append_configuration(sdbus::Message& message,
                          std::span<const ConfigurationRow> rows);  // a(ssss)

// What ListRuns says of a run beside its name and state.
template <typename F>
void each_summary(const run::Status& status, F&& f) {
  const auto& report = status.report;
  f("Owner", report.owner);
  f("OwnerUID", report.owner_uid);
  f("Description", status.description);
  f("Labels", status.labels);
  f("Result", report.result);
  f("EndReason", report.end_reason);
  f("DriverPID", status.driver_pid);
  f("DriverExit", report.driver_exit);
  f("DriverStatus", report.driver_status);
  f("Leaks", count32(report.leaks_found));
  f("Stuck", count32(report.stuck));
  f("StartTimestamp", report.start.realtime_usec);
  f("DriverExitTimestamp", report.driver_exited.realtime_usec);
  f("EndTimestamp", report.end.realtime_usec);
}

}  // namespace corral::dbus
