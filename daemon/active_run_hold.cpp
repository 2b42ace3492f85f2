#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "cgroup/control.h"
#include "daemon/active_run.h"
#include "daemon/constants.h"
#include "daemon/due.h"
#include "daemon/snapshot.h"

namespace corral::daemon {

using run::FaultKind;

run::Verdict ActiveRun::verdict() const {
  if (observer_.observes(*this, overruled_)) return run::Verdict::observe;
  if (asked_) return run::Verdict::kill;
  switch (status_.policy.on_driver_exit) {
    case run::OnDriverExit::kill:
      return run::Verdict::kill;
    case run::OnDriverExit::freeze:
      return run::Verdict::freeze;
    case run::OnDriverExit::report:
      return run::Verdict::report;
  }
  return run::Verdict::kill;
}

void ActiveRun::hold_frozen() {
  freeze_then([this](const cgroup::Group& work) {
    spare();
    auto rows = snapshot_work(work, 0);
    if (freeze_) freeze_->leave_frozen();
    status_.frozen = freeze_.has_value();
    freeze_.reset();
    held(std::move(rows), status_.frozen ? run::Outcome::frozen : run::Outcome::left);
  });
}

void ActiveRun::hold() {
  freeze_then([this](const cgroup::Group& work) {
    auto rows = snapshot_work(work, 0);
    freeze_.reset();
    status_.frozen = false;
    held(std::move(rows), run::Outcome::left);
  });
}

void ActiveRun::look_on() {
  auto work = directory_.open_work();
  status_.report.snapshot_exact = false;
  auto rows = work ? snapshot_work(*work, live_driver()) : std::vector<run::Process>{};
  held(std::move(rows), status_.frozen ? run::Outcome::frozen : run::Outcome::left);
}

void ActiveRun::stand_down() {
  half_grace_.reset();
  grace_over_.reset();
  kill_at_usec_.reset();
  thawed();
  look_on();
}

void ActiveRun::held(std::vector<run::Process> rows, run::Outcome outcome) {
  leaks_.held(std::move(rows), outcome, observer_.nested_processes(*this));
  status_.report.state = run::State::holding;
  save_ending(false);
  observer_.run_held(*this);
  count_leaks();
}

void ActiveRun::start_hold() {
  const auto most = status_.policy.hold_max;
  if (!most || hold_until_usec_) return;
  hold_until_usec_ = base::Moment::now().monotonic_usec + static_cast<uint64_t>(most->count());
  save_ending(false);
  arm_hold();
}

void ActiveRun::arm_hold() {
  hold_over_ = around_.loop.after(left_until(hold_until_usec_.value_or(0)), [this] {
    if (phase_ == run::Phase::holding)
      end({.grace = {}, .message = "HoldMaxUSec is over", .by = {}});
  });
}

void ActiveRun::switched() {
  raise(run::Event::switched);
  look();
}

// The driver's own cgroups below, too: a frozen one would never handle a signal. What stays frozen
// is killed all the same.
void ActiveRun::thawed() {
  if (auto work = directory_.open_work()) (void)cgroup::thaw_tree(*work);
  if (!std::exchange(status_.frozen, false)) return;
  observer_.run_changed(*this);
}

void ActiveRun::set_frozen(bool frozen, Done done) {
  const auto what = fmt::format("{} run \"{}\"", frozen ? "freeze" : "thaw", record_.id.text());
  // While its processes are looked at the freezer is the end's, which would undo this afterwards.
  if ((phase_ != run::Phase::running && phase_ != run::Phase::holding) || freeze_)
    return done(run::fault(FaultKind::run_busy,
                           fmt::format("{}: it is {}", what, run::word(status_.report.state))));
  if (setting_) answer_frozen(run::fault(FaultKind::run_busy, what + ": asked anew"));
  auto work = directory_.open_work();
  auto written = work ? cgroup::set_frozen(*work, frozen) : Result<void>(work.error());
  if (!written) return done(run::fault(FaultKind::run_busy, what + ": " + written.error().message));
  setting_.emplace(frozen, std::move(done), around_.loop.after(around_.config.freeze, [this, what] {
    thawed();
    answer_frozen(
        run::fault(FaultKind::freeze_timeout,
                   fmt::format("{}: the kernel did not get there within {} ms (a process in "
                               "D state, perhaps); it is thawed again",
                               what, around_.config.freeze / 1ms)));
  }));
  look();
}

void ActiveRun::look_whether_set() {
  auto work = directory_.open_work();
  const auto events = work ? work->events() : Result<cgroup::Events>(work.error());
  if (!events || events->frozen != setting_->frozen) return;
  if (std::exchange(status_.frozen, events->frozen) != events->frozen) observer_.run_changed(*this);
  answer_frozen({});
}

void ActiveRun::answer_frozen(run::Answer<void> answer) {
  if (!setting_) return;
  auto done = std::move(setting_->done);
  setting_.reset();
  done(std::move(answer));
}

}  // namespace corral::daemon
