#include "init/pending.h"

#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "init/probe.h"
#include "init/sys.h"

enum { kRequestMilliseconds = 2000, kBirthMilliseconds = 10000 };

static void release(struct pending* pending) {
  request_close(&pending->start.request);
  (void)close(pending->connection);
  pending->connection = -1;
}

static void refuse(struct pending* pending, struct failure failure) {
  request_answer(pending->connection,
                 (struct corral_reply){.step = failure.step, .error = failure.error}, NULL, 0);
  release(pending);
}

/* The supervisor, or this time a moved one. */
static void bear(struct pending* pending, bool moved) {
  const struct child_plan plan = {.cgroup = pending->start.request.fds[kInit],
                                  .clone_step = CORRAL_STEP_CLONE_SUPERVISOR,
                                  .move_step = CORRAL_STEP_MOVE_SUPERVISOR,
                                  .body = supervisor_run,
                                  .context = &pending->start};
  struct child* child = &pending->start.self;
  const struct failure failure = moved ? child_bear_moved(&plan, child) : child_bear(&plan, child);
  if (failure.step != CORRAL_STEP_NONE) {
    refuse(pending, failure);
    return;
  }
  child_release(child);
  pending->born = true;
  pending->deadline = sys_milliseconds() + kBirthMilliseconds;
}

static void hear(struct pending* pending) {
  struct failure word;
  const bool lives = child_hear(&pending->start.self, &word);
  const bool moved = pending->start.self.moved;
  child_forget(&pending->start.self);
  pending->born = false;
  if (lives)
    release(pending); /* it answers itself */
  else if (moved)
    refuse(pending, failed_at(CORRAL_STEP_CLONE_SUPERVISOR, ECANCELED));
  else
    bear(pending, true); /* killed at its birth: see CORRAL_BUG_KILLED_BIRTH */
}

static void probe(struct pending* pending) {
  const pid_t pid = fork();
  if (pid == 0) probe_run(pending->connection, pending->start.request.fds[0]);
  if (pid < 0)
    refuse(pending, failed_at(CORRAL_STEP_CLONE_SUPERVISOR, errno));
  else
    release(pending);
}

static void take_request(struct pending* pending) {
  int error = request_receive(pending->connection, &pending->start.request);
  if (error == -EAGAIN) return;
  if (error == 0 && !request_peer_allowed(pending->connection)) error = -EPERM;
  if (error == -ENOTCONN)
    release(pending);
  else if (error < 0)
    refuse(pending, failed_at(CORRAL_STEP_REQUEST, -error));
  else if (pending->start.request.kind == CORRAL_PROBE)
    probe(pending);
  else
    bear(pending, false);
}

void pending_open(struct pending* pending, int connection) {
  *pending = (struct pending){.connection = connection};
  pending->start.connection = connection;
  pending->deadline = sys_milliseconds() + kRequestMilliseconds;
  take_request(pending); /* most often it is there already */
}

int pending_fd(const struct pending* pending) {
  return pending->born ? pending->start.self.channel : pending->connection;
}

void pending_go_on(struct pending* pending) {
  if (pending->born)
    hear(pending);
  else
    take_request(pending);
}

void pending_give_up(struct pending* pending) {
  if (!pending->born) {
    release(pending);
    return;
  }
  child_kill(&pending->start.self);
  refuse(pending, failed_at(CORRAL_STEP_CLONE_SUPERVISOR, ETIMEDOUT));
}
