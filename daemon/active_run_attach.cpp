#include <fmt/format.h>

#include "base/log.h"
#include "cgroup/control.h"
#include "cgroup/mount.h"
#include "cgroup/proc_stat.h"
#include "daemon/active_run.h"

namespace corral::daemon {

using run::FaultKind;

void ActiveRun::tie() {
  spawning_ = false;  // nobody is asked to bear a driver
  watch_work();
  auto opener =
      cgroup::Pidfd::open(static_cast<pid_t>(record_.opener.pid), record_.opener.start_time);
  if (opener) {
    opener_ = std::move(*opener);
    opener_exited_ = around_.loop.on_readable(opener_->fd(), [this] { opener_gone(); });
  } else {
    opener_exited_ = around_.loop.soon([this] { opener_gone(); });
  }
}

// Where the driver went first, its exit is being looked for, and the end is under way.
void ActiveRun::opener_gone() {
  opener_exited_.reset();
  opener_.reset();
  const bool untold = phase_ == run::Phase::running && live_driver() != 0;
  if (phase_ != run::Phase::starting && !untold) return;
  end({.grace = {},
       .message = untold ? "the process that opened the run is gone"
                         : "the process that opened the run went before it attached a driver",
       .by = {},
       .reason = run::EndReason::lease_lost});
}

run::Answer<void> ActiveRun::attach(pid_t pid) {
  const auto what = [&] {
    return fmt::format("attach pid {} to run \"{}\"", pid, record_.id.text());
  };
  auto driver = cgroup::Pidfd::open(pid);
  const auto stat = driver ? cgroup::read_stat(pid) : std::nullopt;
  if (!stat) return run::fault(FaultKind::pid_unknown, what() + ": there is no such process");
  if (phase_ != run::Phase::starting) {
    if (lineage_.driver == pid) return {};
    return run::fault(FaultKind::run_busy,
                      what() + (lineage_.driver ? ": it has a driver already" : ": it is ending"));
  }
  if (stat->ppid != static_cast<pid_t>(record_.opener.pid))
    return run::fault(FaultKind::invalid_args,
                      fmt::format("{}: it is not a child of pid {}, which opened the run", what(),
                                  record_.opener.pid));
  if (auto moved = move_in(*driver); !moved) return moved;
  const run::Members members{
      .driver = {.pid = static_cast<uint32_t>(pid), .start_time = stat->start_time},
      .supervisor = record_.opener};
  const auto written = directory_.write_record(run::kDriverXattr, to_json(members));
  if (!written)
    return run::fault(FaultKind::containment_unavailable, what() + ": " + written.error().message);
  know(pid, stat->session, stat->pgrp, stat->ppid);
  watch_driver(std::move(*driver));
  status_.driver_pid = members.driver.pid;
  raise(run::Event::executed);
  look();
  return {};
}

// A zombie is moved nowhere, and lies where it died: its exit is all that is still to come of it.
run::Answer<void> ActiveRun::move_in(const cgroup::Pidfd& driver) {
  const auto is_inside = [&] {
    const auto where = cgroup::path_of(driver.pid());
    return where && is_in_work(*where);
  };
  if (is_inside() || driver.exited()) return {};
  auto work = directory_.open_work();
  auto moved = work ? cgroup::move_into(*work, driver.pid()) : Result<void>(work.error());
  if (moved && (is_inside() || driver.exited())) {
    log(Level::notice, "run {}: its driver was moved into the cgroup, not born there",
        record_.id.text());
    return {};
  }
  const std::string why = moved ? "it was moved on by someone else" : moved.error().message;
  return run::fault(
      FaultKind::containment_unavailable,
      fmt::format("attach pid {} to run \"{}\": {}; clone it into the run's work/ "
                  "(CLONE_INTO_CGROUP), or call from a cgroup that this service may write to",
                  driver.pid(), record_.id.text(), why));
}

run::Answer<void> ActiveRun::report_exit(run::DriverExit exit, int32_t status) {
  const auto busy = [&](const char* why) {
    return run::fault(FaultKind::run_busy,
                      fmt::format("report the exit of run \"{}\": {}", record_.id.text(), why));
  };
  if (phase_ == run::Phase::starting) return busy("it has no driver yet; attach it first");
  if (live_driver() != 0) return busy("its driver has not exited");
  if (!driver_ || driver_->departed()) return {};
  const run::Exit told{.exit = exit, .status = status, .when = base::Moment::now()};
  // For a service that has to look for it after us.
  const auto written = directory_.write_record(run::kExitXattr, to_json(told));
  if (!written) log(Level::warning, "run {}: {}", record_.id.text(), written.error().message);
  driver_->report(told);
  return {};
}

}  // namespace corral::daemon
