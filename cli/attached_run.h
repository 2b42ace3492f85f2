#pragma once

#include "cli/arguments.h"
#include "cli/output.h"

namespace corral::cli {

// `run` without --detach: the command as the driver of a run, in this process's own place. Gives
// the exit status, or ends this process by the signal that ended the driver.
int run_attached(const Arguments& arguments, const Output& output);

}  // namespace corral::cli
