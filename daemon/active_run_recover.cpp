#include <algorithm>
#include <utility>

#include "base/log.h"
#include "cgroup/record.h"
#include "daemon/active_run.h"

namespace corral::daemon {
namespace {

std::optional<run::Ending> read_ending(const RunDirectory& directory) {
  auto group = directory.open();
  if (!group) return std::nullopt;
  auto text = cgroup::read_record(*group, run::kEndXattr);
  if (!text || !*text) return std::nullopt;
  auto ending = run::parse_ending(**text);
  if (!ending) return std::nullopt;
  return *ending;
}

}  // namespace

std::unique_ptr<ActiveRun> ActiveRun::recover(Surroundings around, RunObserver& observer,
                                              run::Record record, std::string place,
                                              run::Status& status) {
  auto run =
      std::make_unique<ActiveRun>(around, observer, std::move(record), std::move(place), status);
  run->spawning_ = false;
  const auto members = read_members(run->directory_);
  auto ending = read_ending(run->directory_);
  run->is_opened() ? run->tie() : run->watch_work();
  if (auto work = run->directory_.open_work()) {
    const auto events = work->events();
    run->status_.frozen = events && events->frozen;
  }
  if (!members && run->opener_ && !ending) return run;  // to be attached yet
  if (!members && run->record_.kind == run::Kind::kept) {
    run->phase_ = run::Phase::running;
    if (ending) run->resume_end(*ending);
    run->status_.report.state = run::state_of(run->phase_);
    return run;
  }
  if (!members) {
    // Half made: its driver was never let go. Whoever asked for it has no answer to lose.
    run->status_.report.result = run::RunResult::start_failed;
    run->status_.report.end_message = "the service stopped before the driver executed";
    run->phase_ = run::Phase::killing;
    run->status_.report.state = run::State::ending;
    run->actions_.push_back(run::Action::kill);
    return run;
  }
  run->resume(*members, std::move(ending));
  return run;
}

void ActiveRun::resume(const run::Members& members, std::optional<run::Ending> ending) {
  const auto pid = static_cast<pid_t>(members.driver.pid);
  const auto supervisor = static_cast<pid_t>(members.supervisor.pid);
  if (is_adopted()) {
    know_by(pid, pid, std::nullopt);
  } else if (is_opened()) {
    know_by(pid, supervisor, supervisor);  // its own are its parent's
  } else {
    know(pid, pid, pid, supervisor);
  }
  auto driver = cgroup::Pidfd::open(pid, members.driver.start_time);
  if (driver) status_.driver_pid = members.driver.pid;
  watch_driver(driver ? std::optional(std::move(*driver)) : std::nullopt);
  phase_ = run::Phase::running;
  if (ending) resume_end(*ending);
  status_.report.state = run::state_of(phase_);
}

// What was asked is not asked again; what is due is done once, in the loop.
void ActiveRun::resume_end(const run::Ending& ending) {
  auto& report = status_.report;
  report.end_reason = ending.reason;
  report.end_message = ending.message;
  report.ended_by = ending.ended_by;
  end_began_ = ending.began;
  asked_ = ending.asked;
  all_asked_ = ending.all_asked;
  if (ending.holding) {
    phase_ = run::Phase::holding;
    if (ending.hold_until_usec == 0) return;
    hold_until_usec_ = ending.hold_until_usec;
    return arm_hold();
  }
  phase_ = all_asked_ ? run::Phase::terminating : run::Phase::asking;
  kill_at_usec_ = ending.kill_at_usec;
  arm_grace();
}

}  // namespace corral::daemon
