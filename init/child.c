#include "init/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/sys.h"

struct ends {
  int parents, childs;
};

static struct failure make_channel(struct ends* ends) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return failed_at(CORRAL_STEP_PIPE, errno);
  *ends = (struct ends){.parents = pair[0], .childs = pair[1]};
  return failed_at(CORRAL_STEP_NONE, 0);
}

_Noreturn static void park_and_run(const struct child_plan* plan, struct ends ends) {
  (void)close(ends.parents);
  child_say(ends.childs, failed_at(CORRAL_STEP_NONE, 0));
  if (plan->prepare != NULL) {
    const struct failure failure = plan->prepare(plan->context);
    if (failure.step != CORRAL_STEP_NONE) {
      child_say(ends.childs, failure);
      _exit(1);
    }
  }
  char go;
  if (recv(ends.childs, &go, sizeof go, 0) == 1) plan->body(ends.childs, plan->context);
  _exit(1);
}

struct failure child_bear(const struct child_plan* plan, struct child* child) {
  struct ends ends;
  const struct failure failure = make_channel(&ends);
  if (failure.step != CORRAL_STEP_NONE) return failure;
  child->moved = false; /* before the clone: the child may ask */
  child->pid = sys_clone_into(plan->cgroup, &child->pidfd);
  if (child->pid == 0) park_and_run(plan, ends);
  (void)close(ends.childs);
  child->channel = ends.parents;
  if (child->pid > 0) return failure;
  (void)close(ends.parents);
  if (sys_clone_into_refused(-child->pid)) return child_bear_moved(plan, child);
  return failed_at(plan->clone_step, -child->pid);
}

static struct failure migrate(const struct child_plan* plan, struct child* child) {
  child->pidfd = pidfd_open(child->pid, 0);
  if (child->pidfd < 0) return failed_at(plan->clone_step, errno);
  return failed_at(plan->move_step, -sys_move(plan->cgroup, child->pid));
}

struct failure child_bear_moved(const struct child_plan* plan, struct child* child) {
  struct ends ends;
  struct failure failure = make_channel(&ends);
  if (failure.step != CORRAL_STEP_NONE) return failure;
  child->moved = true;
  child->pid = fork();
  if (child->pid == 0) park_and_run(plan, ends);
  if (child->pid < 0) failure = failed_at(plan->clone_step, errno);
  (void)close(ends.childs);
  child->channel = ends.parents;
  if (child->pid < 0) {
    (void)close(ends.parents);
    return failure;
  }
  failure = migrate(plan, child);
  if (failure.error == 0) return failed_at(CORRAL_STEP_NONE, 0);
  /* It is parked: the end of the channel is the end of it. */
  child_forget(child);
  return failure;
}

void child_release(const struct child* child) {
  (void)send(child->channel, "", 1, MSG_NOSIGNAL); /* may be dead already */
}

bool child_hear(const struct child* child, struct failure* word) {
  ssize_t length;
  /* ECONNRESET: it died with our word unread. What it said itself comes after that error. */
  do length = recv(child->channel, word, sizeof *word, 0);
  while (length < 0 && (errno == EINTR || errno == ECONNRESET));
  return length == (ssize_t)sizeof *word;
}

void child_say(int channel, struct failure word) {
  (void)send(channel, &word, sizeof word, MSG_NOSIGNAL); /* nobody listens: nobody waits for it */
}

void child_forget(struct child* child) {
  (void)close(child->channel);
  if (child->pidfd >= 0) (void)close(child->pidfd);
  child->channel = child->pidfd = -1;
}

void child_kill(struct child* child) {
  (void)pidfd_send_signal(child->pidfd, SIGKILL, NULL, 0); /* may be gone already */
  child_forget(child);
}
