#include "run/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>

namespace corral::run {

std::string Who::text() const {
  if (pid == 0) return {};
  std::string text = fmt::format("uid {}, pid {}", uid, pid);
  if (!comm.empty()) text += fmt::format(" ({})", comm);
  if (!unit.empty()) text += fmt::format(", unit {}", unit);
  return text;
}

RunResult result_of(DriverExit exit, int32_t status, bool oom_killed) {
  switch (exit) {
    case DriverExit::none:
      return RunResult::none;
    case DriverExit::exited:
      return status == 0 ? RunResult::success : RunResult::exit_code;
    case DriverExit::killed:
      // The OOM killer uses SIGKILL only: a driver that went of another signal was not its victim,
      // though another process of the run was.
      return oom_killed && status == SIGKILL ? RunResult::oom_kill : RunResult::signal;
    case DriverExit::dumped:
      return RunResult::core_dump;
    case DriverExit::unknown:
      return RunResult::unknown;
  }
  return RunResult::unknown;
}

void rank_and_cap(Report& report) {
  std::vector<Process>& leaks = report.leaks;
  const size_t listed = std::min(leaks.size(), kListedLeaks);
  std::ranges::partial_sort(leaks, leaks.begin() + static_cast<std::ptrdiff_t>(listed),
                            shown_before);
  report.leaks_omitted += leaks.size() - listed;
  leaks.resize(listed);
}

}  // namespace corral::run
