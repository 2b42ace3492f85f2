#pragma once

namespace corral::bench {

// Prints the system calls of one start, of one natural end with one leak, and of one end by
// request, by process: of corrald, the spawner, the supervisor, and the driver up to its exec.
void count_calls();

// Prints the system calls of corrald in ten seconds with 100 live runs; throws unless it is none.
void count_idle_calls();

}  // namespace corral::bench
