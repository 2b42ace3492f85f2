#pragma once

#include "bench/bare_process.h"
#include "bench/samples.h"
#include "bench/starts.h"
#include "harness/stack.h"

namespace corral::bench {

// From the call of EndRun without grace to its report, of a driver with `sleepers` children in
// sessions of their own; against a bare cgroup.kill until populated 0 of the same tree. Throws
// where one of the trees is not whole when it is to be ended.
Pair measure_ends(harness::Stack& stack, BareProcess& bare, unsigned sleepers, Amount amount);

}  // namespace corral::bench
