#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/result.h"
#include "cgroup/group.h"
#include "cli/group_witness.h"
#include "cli/held_signals.h"
#include "cli/parked_child.h"
#include "run/words.h"

namespace corral::cli {

// How a driver went, as its parent was told (waitid(2)).
struct DriverEnd {
  run::DriverExit exit = run::DriverExit::exited;
  int32_t status = 0;  // exit code or signal
  base::Moment when;
};

// The driver of an attached run, as a child in the same process group and on the same terminal, so
// that for everybody else this process is the driver:
//  - Signals. What was sent to this process alone goes on to the driver; what went to the group
//    (kill(2), the terminal) has reached it. A GroupWitness tells which. A driver in a group of its
//    own, which it could not have made were it here in our place, gets both, and its group what was
//    for the group. What the driver sends to its parent goes on to ours.
//  - Stops. No stop signal has its effect here: the driver's stop, by whatever signal, is repeated
//    with the same signal. So one that the driver ignores does not stop us before its eyes. SIGSTOP
//    to this process alone is the exception: it cannot be held. A driver that had the terminal for
//    a group of its own gets it back.
//  - Orphans of the run come to this process (PR_SET_CHILD_SUBREAPER) and are reaped.
// The driver itself stays unreaped until reap(), so that its number stays its own.
class AttachedDriver {
 public:
  // Parks the driver. Signals are held by then, and may be lifted until release(). `signals`
  // outlives it.
  static Result<AttachedDriver> park(const cgroup::Group* work, const ChildPlan& plan,
                                     const HeldSignals& signals);

  pid_t pid() const { return child_.pid(); }
  // Instead of release(): the driver never executed anything, and is gone.
  void abandon() { child_.abandon(); }

  // Lets the driver go, with signals held again; gives up every descriptor that it got from us but
  // standard error, so that it alone decides how long a pipe is open.
  void release();
  // Waits for its exit. Then the witness is gone, and signals stay held.
  DriverEnd wait();
  // Why it did not execute; after wait(). Its exit is 126 or 127 then, or 125.
  const std::optional<Error>& failure() const { return failure_; }
  // Reaps the driver and what orphans have exited by now.
  static void reap();

 private:
  using Clock = std::chrono::steady_clock;

  AttachedDriver(GroupWitness witness, ParkedChild child, const HeldSignals& signals)
      : witness_(std::move(witness)), child_(std::move(child)), signals_(&signals) {}

  void take_signals();
  void pass_on(const signalfd_siginfo& info);
  void send(const signalfd_siginfo& info, pid_t target) const;
  void take_children();
  bool take_driver();
  void stop_with_driver(int signal);

  std::optional<GroupWitness> witness_;
  ParkedChild child_;
  const HeldSignals* signals_;
  bool hears_child_ = true;
  std::array<Clock::time_point, NSIG> to_group_{};  // when the group last got that signal
  std::optional<Error> failure_;
  std::optional<DriverEnd> end_;
};

}  // namespace corral::cli
