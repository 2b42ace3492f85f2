#pragma once

#include <cstddef>
#include <cstdint>

#include "dbus/calls.h"
#include "run/process.h"
#include "run/report.h"
#include "run/status.h"

namespace corral::dbus {

// Bounds on what a caller is sent. The bus disconnects a sender whose message is too long.
inline constexpr size_t kMessageBytes = size_t{16} << 20;
inline constexpr size_t kReportBytes = size_t{8} << 20;  // the leaks of one report
inline constexpr size_t kRowBytes = size_t{1} << 20;     // one process

// Cuts Argv to run::kArgvBytes and the process to kRowBytes, so that one row fits whatever it
// holds.
void fit(run::Process& process);
// fit() each leak; leaves out the last ones past kReportBytes and counts them in leaks_omitted.
void fit(run::Report& report);

// No less than the message takes for it.
size_t wire_size(const run::Process& row);
size_t wire_size(const run::Status& status);  // as append_runs() shows it

// Counts are t in reports and u as properties and signal arguments: this one, or the most that
// fits.
uint32_t count32(uint64_t count);

}  // namespace corral::dbus
