#pragma once

#include <functional>

#include "cgroup/pidfd.h"

namespace corral::harness {

// A process that does `work` once this one is gone, however it went: a test that is killed for its
// time-out runs no destructor, and what it started would run on. `work` is done in a fork, with no
// fd of this process but what it opens itself.
class Guardian {
 public:
  explicit Guardian(const std::function<void()>& work);
  Guardian(const Guardian&) = delete;
  Guardian& operator=(const Guardian&) = delete;
  // Ends it; the work stays undone.
  ~Guardian();

 private:
  cgroup::Pidfd process_;
};

}  // namespace corral::harness
