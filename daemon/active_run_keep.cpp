#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cgroup/mount.h"
#include "daemon/active_run.h"

namespace corral::daemon {

using run::FaultKind;

// What its end spares, before anyone of it is asked to go.
void ActiveRun::spare() {
  const auto& globs = status_.policy.keep;
  auto all = globs.empty() ? std::vector<run::Process>{} : processes();
  std::erase_if(all, [driver = live_driver()](const run::Process& process) {
    return static_cast<pid_t>(process.pid) == driver;
  });
  for (auto& process : all) cgroup::describe(process);
  for (const auto& glob : globs) {
    const auto matches = [&](const run::Process& process) {
      return !process.exe.empty() && fnmatch(glob.c_str(), process.exe.c_str(), 0) == 0;
    };
    const auto spared = std::ranges::partition(all, std::not_fn(matches));
    if (spared.empty()) continue;
    const std::string rule = "Keep=" + glob;
    auto kept = observer_.keep(*this, {spared.begin(), spared.end()}, rule);
    if (!kept) log(Level::error, "run {}: keep: {}", record_.id.text(), kept.error().message);
    if (kept) leaks_.kept(std::move(kept->processes), rule);
    all.erase(spared.begin(), spared.end());
  }
}

run::Answer<run::DirectoryName> ActiveRun::release(const std::vector<uint32_t>& pids) {
  const auto what = fmt::format("release from run \"{}\"", record_.id.text());
  if (phase_ == run::Phase::starting || phase_ >= run::Phase::killing)
    return run::fault(FaultKind::run_busy,
                      fmt::format("{}: it is {}", what, run::word(status_.report.state)));
  const auto all = processes();
  std::vector<run::Process> chosen;
  for (const uint32_t pid : pids) {
    const auto found = std::ranges::find(all, pid, &run::Process::pid);
    if (found == all.end() && !cgroup::path_of(static_cast<pid_t>(pid)))
      return run::fault(FaultKind::pid_unknown,
                        fmt::format("{}: pid {}: there is no such process", what, pid));
    if (found == all.end())
      return run::fault(FaultKind::invalid_args,
                        fmt::format("{}: pid {} is not a process of this run", what, pid));
    if (static_cast<pid_t>(pid) == live_driver())
      return run::fault(FaultKind::invalid_args,
                        fmt::format("{}: pid {} is its driver", what, pid));
    cgroup::describe(chosen.emplace_back(*found));
  }
  auto kept = observer_.keep(*this, std::move(chosen), "Release");
  if (!kept)
    return run::fault(FaultKind::containment_unavailable,
                      fmt::format("{}: {}", what, kept.error().message));
  leaks_.kept(std::move(kept->processes), "Release");
  look();
  return kept->name;
}

void ActiveRun::take_over(std::optional<cgroup::Pidfd> driver) {
  spawning_ = false;
  watch_work();
  if (driver) {
    status_.driver_pid = static_cast<uint32_t>(driver->pid());
    know_by(driver->pid(), driver->pid(), std::nullopt);
    watch_driver(std::move(driver));
  }
  raise(run::Event::executed);
  look();
}

}  // namespace corral::daemon
