#pragma once

#include "bench/bare_process.h"
#include "bench/samples.h"
#include "harness/stack.h"

namespace corral::bench {

// How much of it is done: until both are over, and no longer than `bound`.
struct Amount {
  unsigned pairs = 0;
  std::chrono::seconds bound{};
};

// From the call of StartRun, on a connection that is there already, to its answer that the driver
// executed; against the same work in a bare loop. The run is ended before the next sample.
Pair measure_starts(harness::Stack& stack, BareProcess& bare, Amount amount);

}  // namespace corral::bench
