#pragma once

#include <string>
#include <vector>

#include "harness/stack.h"

namespace corral::bench {

// Runs whose drivers wait, ended when it goes.
class LiveRuns {
 public:
  LiveRuns(harness::Stack& stack, unsigned count);
  LiveRuns(const LiveRuns&) = delete;
  LiveRuns& operator=(const LiveRuns&) = delete;
  ~LiveRuns();

  // The pids of their supervisors.
  std::vector<pid_t> supervisors() const;

 private:
  harness::Stack& stack_;
  std::vector<harness::Started> runs_;
};

}  // namespace corral::bench
