/* A child that is born in a cgroup, parked, and let go.
 *
 * Parent and child share one socket pair, the channel. The child says that it lives, prepares
 * itself while the parent records it, waits for the word to go, and only then runs its body, so
 * that nothing that is not ours executes outside of the cgroup. End of file while parked: the
 * parent died, and the child exits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "init/protocol.h"

/* What a child says on its channel, and what every step of a start answers: where it failed and
 * errno; CORRAL_STEP_NONE is "nothing failed", and as the first word "I live". */
struct failure {
  uint32_t step;
  int32_t error;
};

static inline struct failure failed_at(enum corral_step step, int error) {
  return (struct failure){.step = step, .error = error};
}

struct child_plan {
  int cgroup; /* borrowed */
  enum corral_step clone_step, move_step;
  /* May be NULL. A failure is said on the channel, and the child exits. */
  struct failure (*prepare)(const void* context);
  /* Does not return. Owns the channel. */
  void (*body)(int channel, void* context);
  void* context;
};

struct child {
  pid_t pid;
  int pidfd, channel;
  bool moved; /* not born there, but migrated while parked; the child's own copy says so too */
};

/* Makes the child by clone3(2) into the cgroup, or, where that is refused, as child_bear_moved().
 * On failure there is no child and nothing to close; otherwise the caller owns both fds and reaps.
 */
struct failure child_bear(const struct child_plan* plan, struct child* child);
/* By fork(2) and a migration. */
struct failure child_bear_moved(const struct child_plan* plan, struct child* child);

/* Lets it go. That it is dead already shows when it is heard. */
void child_release(const struct child* child);

/* Waits for the next word. False at the end of file: the child executed, exited or was killed. */
bool child_hear(const struct child* child, struct failure* word);
/* The child's side of it. */
void child_say(int channel, struct failure word);

/* Closes both fds. The child lives on. */
void child_forget(struct child* child);
/* SIGKILL, then as child_forget(). The caller reaps. */
void child_kill(struct child* child);
