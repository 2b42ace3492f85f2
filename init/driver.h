/* The run's first process, from its birth to exec: its surroundings are the same whoever started
 * the spawner. What is the spawner's own at its start and inherited unchanged (default signal
 * dispositions, umask 022, standard fds taken) is not set again here. */
#pragma once

#include "init/child.h"
#include "init/spec.h"

struct driver {
  const struct spec* spec;
  const int* fds; /* for each stream of kind CORRAL_STREAM_FD, in order; all above 2 */
};

/* Both are for a child (child.h); `context` is a struct driver. The preparation: a session, a
 * session keyring, streams, working directory, limits and an oom_score_adj of 0. */
struct failure driver_prepare(const void* context);
/* The body: closes every other fd, empties the signal mask and executes the command, found on the
 * PATH of its own environment (execvp(3)). The end of the channel without a word is success.
 * Otherwise says the step and errno and exits. */
void driver_run(int channel, void* context);
