/* The supervisor's long rest: it reaps, records the driver's exit and waits to be let go. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct reaper {
  int run, work, exit_file; /* `<run>`, `<run>/work`, where the exit goes besides its attribute */
  int signals;              /* signalfd(2) of SIGCHLD and SIGTERM, both blocked */
  pid_t driver;
};

/* Returns when SIGTERM has come, the driver's exit is recorded and nothing is left in work/ and
 * below, in whatever order; until then SIGTERM does nothing. Children elsewhere do not hold it. The
 * driver is recorded (record.h) before it is reaped; every orphan is reaped. Asleep but for
 * SIGCHLD. */
void reaper_run(const struct reaper* reaper);
