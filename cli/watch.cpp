#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/printable.h"
#include "cli/report_text.h"

namespace corral::cli {
namespace {

std::string driver_exited_text(const RunSignal& signal) {
  run::Report report;
  report.driver_exit =
      run::parse_word<run::DriverExit>(signal.exit).value_or(run::DriverExit::unknown);
  report.driver_status = signal.status;
  return driver_text(report);
}

std::string what_of(const RunSignal& signal) {
  if (signal.name == "RunStarted") return "started";
  if (signal.name == "DriverExited") return driver_exited_text(signal);
  if (signal.name == "LeaksFound")
    return count_text(signal.count, "process has", "processes have") + " outlived the driver";
  std::string text = "ended";
  if (!signal.reason.empty()) text += ": " + printable(signal.reason);
  if (!signal.result.empty()) text += fmt::format(" ({})", printable(signal.result));
  return text;
}

json object_of(const RunSignal& signal, uint64_t now) {
  json object = {{"Signal", signal.name},
                 {"Timestamp", now},
                 {"Id", signal.id},
                 {"Invocation", signal.invocation},
                 {"Path", signal.path}};
  if (signal.name == "DriverExited") {
    object["DriverExit"] = signal.exit;
    object["DriverStatus"] = signal.status;
  }
  if (signal.name == "LeaksFound") object["Leaks"] = signal.count;
  if (signal.name == "RunEnded") {
    object["Result"] = signal.result;
    object["EndReason"] = signal.reason;
  }
  return object;
}

}  // namespace

int watch_runs(const Session& session) {
  const Arguments& arguments = session.arguments;
  int status = kSuccess;
  // A service that is not there would be waited for in silence.
  if (const auto there = session.service.manager_properties(); !there)
    return fail(arguments, "", there.error());
  const auto watched = session.service.follow([&](const RunSignal& signal) {
    const uint64_t now = base::Moment::now().realtime_usec;
    status = arguments.json ? print_json(arguments, object_of(signal, now))
                            : print(arguments, fmt::format("{}  {}  {}\n", time_text(now),
                                                           printable(signal.id), what_of(signal)));
    return status == kSuccess;
  });
  if (watched) return status;
  return fail(arguments, "", Error{"the bus went away: " + watched.error().message, 0});
}

}  // namespace corral::cli
