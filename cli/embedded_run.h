#pragma once

#include "cli/arguments.h"
#include "cli/output.h"

namespace corral::cli {

// `--embedded run`: the command as a run of a service of its own. Gives the driver's status, or one
// for failures of our own.
int run_embedded(const Arguments& arguments, const Output& output);

}  // namespace corral::cli
