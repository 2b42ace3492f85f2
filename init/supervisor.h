/* The driver's parent, from its own birth in `<run>/init` to its end. It is the spawner's child and
 * the same program: without exec it shares the spawner's pages. */
#pragma once

#include "init/child.h"
#include "init/request.h"

struct start {
  int connection;
  struct request request; /* a CORRAL_START */
  struct child self;      /* the supervisor, as the spawner has it */
};

/* The body of a child (child.h); `context` is a struct start. Bears the driver in `<run>/work`,
 * records both, lets the driver go, answers on the connection, and rests as the reaper. On failure
 * nothing is left of the driver when the answer goes out, and the process exits. Relies on what the
 * spawner set up: all signals blocked, default dispositions, standard fds taken. */
void supervisor_run(int channel, void* context);
