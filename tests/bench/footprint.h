#pragma once

namespace corral::bench {

// Prints the memory (PSS of /proc/PID/smaps_rollup) of corrald without and with 100 live runs, and
// of their supervisors.
void measure_memory();

// Prints how long it takes from the driver's exit to LeaksFound for 10,000 processes: to freeze
// them, count them and read what each is.
void measure_snapshot();

}  // namespace corral::bench
