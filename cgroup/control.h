#pragma once

#include <sys/types.h>

#include <chrono>

#include "base/result.h"
#include "cgroup/group.h"

namespace corral::cgroup {

// Kills every process of the group and below it with one write to cgroup.kill (Linux 5.14), atomic
// against forks; before 5.14 by kill_by_walk(). A group that is gone is dead: success. Says nothing
// about whether they are gone: read events().
Result<void> kill(const Group& group);

// SIGKILL by pidfd to each process of the group and below, after its cgroup was checked through the
// same pidfd's pid. Needed after kill() too: kernels let a process live whose group leader had
// called pthread_exit(3). Repeats until a pass finds none that it has not signalled yet; bounded.
// Returns how many it signalled.
Result<unsigned> kill_by_walk(const Group& group);

// A signal by pidfd to each process of the group and below (never SIGKILL: that is kill()).
// `except` (a pid, 0 for none) is passed over. Returns how many were signalled; one that went
// meanwhile does not count.
Result<unsigned> signal_all(const Group& group, int number, pid_t except = 0);

// A signal by pidfd to one process if it lives in the group or below it; false where it does not,
// or is gone.
Result<bool> signal_member(const Group& group, pid_t pid, int number);

// Moves the process with all its threads into the group (cgroup.procs; cgroup-v2.rst, "Processes").
// ESRCH: it is gone, or a zombie; EACCES: no right to the common ancestor; EOPNOTSUPP: threaded.
Result<void> move_into(const Group& group, pid_t pid);

// Writes cgroup.freeze; the kernel gets there when events().frozen says so, or never (a task in D
// state). Gone: success.
Result<void> set_frozen(const Group& group, bool frozen);

// Thaws the group and every cgroup below it that is frozen by itself: one that a driver made and
// froze would else never handle SIGTERM. Depth is not bounded by recursion. Gone: success.
Result<void> thaw_tree(const Group& group);

// Freezes for as long as it lives: every way out of the scope thaws, errors and exceptions
// included.
class Freeze {
 public:
  static Result<Freeze> begin(const Group& group);  // writes cgroup.freeze and does not wait
  Freeze(Freeze&& other) noexcept;
  Freeze& operator=(Freeze&&) = delete;
  ~Freeze();
  // Gives the guard up: the group stays frozen when this goes.
  void leave_frozen() { directory_.reset(); }

 private:
  explicit Freeze(UniqueFd directory) : directory_(std::move(directory)) {}
  UniqueFd directory_;
};

// Waits on cgroup.events (poll(2), POLLPRI) until it is as wanted; false at the time-out. It
// blocks: for tests, probes and tools, not for an event loop.
Result<bool> wait_populated(const Group& group, bool populated, std::chrono::milliseconds timeout);
Result<bool> wait_frozen(const Group& group, bool frozen, std::chrono::milliseconds timeout);

}  // namespace corral::cgroup
