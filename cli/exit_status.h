#pragma once

#include <cstdint>

#include "run/words.h"

namespace corral::cli {

// What corralctl exits with; docs/corralctl.md has the table. `wait` and `run` pass on the driver's
// status and say 125 for failures of their own, as env(1) and timeout(1) do.
enum ExitStatus : int {
  kSuccess = 0,
  kFailure = 1,
  kUsage = 2,
  kNotRunning = 3,      // status: the run has ended (LSB, as systemctl)
  kNoSuchRun = 4,       // status: there is no such run (LSB, as systemctl)
  kStillPopulated = 5,  // end: something is left, even after the kill
  kOwnFailure = 125,
  kCannotExecute = 126,
  kNotFound = 127,
};

// As a shell has it: the code, or 128 + signal. 125 for a driver whose exit nobody saw.
int status_of_driver(run::DriverExit exit, int32_t status);

}  // namespace corral::cli
