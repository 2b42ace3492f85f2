#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/group.h"
#include "cgroup/kinship.h"
#include "cgroup/pidfd.h"

namespace corral::daemon {

// Moves processes that live already into the work/ of a new run, with all that descends from them.
// Each is held by a pidfd from the first look on. Where it goes before it was kept, every one that
// was moved is moved back to where it sat.
class Adoption {
 public:
  // Who may be moved along: what sits below `runs` is a run's already; others are its uid's, unless
  // that is root.
  struct Limits {
    std::string runs;  // path of the directory that holds all runs, as path_of() has it
    std::string from;  // path of the run that it may be taken from all the same; "" for none
    uint32_t uid = 0;
  };
  Adoption(cgroup::Group work, Limits limits)
      : work_(std::move(work)), limits_(std::move(limits)) {}
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
  ~Adoption();

  bool may_take(const cgroup::Kin& kin) const;
  // Moves it; fails with what the kernel says, with ESRCH where it is gone.
  Result<void> take(cgroup::Pidfd process, std::string from);
  // Moves what descends from those that sit in work/ and sits outside of it: how many. One that
  // cannot be moved, or goes meanwhile, is passed over, and does not count.
  size_t take_descendants(cgroup::Kinship& pass);
  // They stay.
  void keep() { moved_.clear(); }

 private:
  struct Moved {
    cgroup::Pidfd process;
    std::string from;
  };
  cgroup::Group work_;
  Limits limits_;
  std::vector<Moved> moved_;
  std::set<pid_t> refused_;  // by the kernel; not tried again
};

}  // namespace corral::daemon
