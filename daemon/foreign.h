#pragma once

#include <vector>

#include "cgroup/escapes.h"
#include "run/process.h"

namespace corral::daemon {

// Gives the rule "foreign" to those of a snapshot of work/ that came from elsewhere (is_foreign()).
// Of most the rows themselves tell it; /proc is read for the others alone.
void mark_foreign(std::vector<run::Process>& rows, const cgroup::Ties& ties);

}  // namespace corral::daemon
