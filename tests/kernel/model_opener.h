#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "service_test.h"

namespace corral::test {

// A process that opens a run, attaches a driver and tells how it exited, as `corralctl run` does.
// It goes with its driver; killed and reaped at the end, if not before.
class Opener {
 public:
  Opener(const std::string& address, const std::string& id, const std::vector<std::string>& argv,
         const Dict& options);
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;
  ~Opener();

  // The name of the error that OpenRun had; "" where the run was opened.
  const std::string& refused() const { return refused_; }
  const harness::Opened& opened() const { return opened_; }
  // 0 where the driver could not be attached.
  pid_t driver() const { return driver_; }
  void kill();

 private:
  harness::Opened opened_;
  std::string refused_;
  pid_t driver_ = 0, pid_ = 0;
};

// What a forked child of a test needs first: not to hold open what the test has open.
void leave_fds(int but);

}  // namespace corral::test
