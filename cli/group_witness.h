#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cgroup/pidfd.h"

namespace corral::cli {

// A child in this process's own group that does nothing but receive signals, and says which it got:
// siginfo_t does not tell whether a signal was sent to one process or to its whole group (kill(2)),
// and what went to the group has reached the driver already.
//
// Without a witness corralctl would have to leave the group, so that all it gets is for it alone.
// But then it is no part of the job any more: a shell's SIGCONT would not reach it, nor would
// waitpid(2) of that group find it.
//
// The witness leaves its signals pending until it is asked, so that they merge with later ones of
// the same number just as its parent's do. It holds neither the terminal nor any other file of the
// caller, lives outside of the run, and dies with its parent (PR_SET_PDEATHSIG).
class GroupWitness {
 public:
  // All signals must be blocked. It is a child of the caller: a waitid(2) for any child sees it go.
  static Result<GroupWitness> start();
  GroupWitness(GroupWitness&&) noexcept = default;
  GroupWitness& operator=(GroupWitness&&) = delete;
  ~GroupWitness();

  pid_t pid() const { return process_.pid(); }

  // Whether the witness got this signal, one that the caller got too, since it was last asked for
  // it. Waits for up to 20 ms: the kernel signals the members of a group one by one. false where
  // the witness is gone.
  bool got(int signal);
  // Drops what it got so far: all, or the stop signals alone.
  void forget();
  void forget_stops();

  // From now on, until the next call of any kind: sends SIGCONT to its parent when `process` (a
  // child of that parent) is not stopped any more. For a parent that is about to stop itself, which
  // nobody else would wake where the driver alone is continued. Nothing tells anybody but the
  // parent of that, so that it asks /proc, ten times a second at first, later once.
  void continue_with(pid_t process);

 private:
  GroupWitness(UniqueFd channel, cgroup::Pidfd process)
      : channel_(std::move(channel)), process_(std::move(process)) {}
  bool ask(int kind, int value);

  UniqueFd channel_;
  cgroup::Pidfd process_;
  uint32_t serial_ = 0;
};

}  // namespace corral::cli
