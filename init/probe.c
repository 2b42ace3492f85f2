#include "init/probe.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/child.h"
#include "init/request.h"
#include "init/sys.h"

enum { kBoundMilliseconds = 2000, kSurvivalMilliseconds = 200 };

static _Atomic int leader_lives;

static int outlive_leader(void* channel) {
  /* The kernel clears it and wakes us when the leader exits (set_tid_address(2)). */
  while (leader_lives) (void)syscall(SYS_futex, &leader_lives, FUTEX_WAIT, 1, NULL, NULL, 0);
  child_say(*(int*)channel, failed_at(CORRAL_STEP_NONE, 0));
  while (pause() < 0) continue; /* until killed */
  return 0;
}

/* The leader of the thread group exits alone, as by pthread_exit(3); a thread stays. */
static void lose_leader(int channel, void* context) {
  (void)context;
  static _Alignas(16) char stack[16384];
  leader_lives = 1;
  (void)syscall(SYS_set_tid_address, &leader_lives);
  const int flags =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  if (clone(outlive_leader, stack + sizeof stack, flags, &channel) < 0) _exit(1);
  for (;;) (void)syscall(SYS_exit, 0);
}

static void exit_at_once(int channel, void* context) {
  (void)context;
  child_say(channel, failed_at(CORRAL_STEP_NONE, 0));
  _exit(0);
}

static bool readable(int fd, int milliseconds) {
  struct pollfd source = {.fd = fd, .events = POLLIN};
  return poll(&source, 1, milliseconds) == 1;
}

/* The next word of the child, or nothing. */
static bool hears(const struct child* child) {
  struct failure word;
  return readable(child->channel, kBoundMilliseconds) && child_hear(child, &word);
}

static void end(struct child* child) {
  const pid_t pid = child->pid;
  child_kill(child);
  (void)waitid(P_PID, (id_t)pid, NULL, WEXITED | __WALL);
}

static struct child_plan plan_for(int cgroup, void (*body)(int, void*)) {
  return (struct child_plan){.cgroup = cgroup,
                             .clone_step = CORRAL_STEP_CLONE_DRIVER,
                             .move_step = CORRAL_STEP_MOVE_DRIVER,
                             .body = body,
                             .context = NULL};
}

/* A child that lives in the cgroup, born or, where this process stands in a once-killed cgroup
 * itself, moved. */
static struct failure bear_living(const struct child_plan* plan, struct child* child) {
  struct failure failure = child_bear(plan, child);
  if (failure.step != CORRAL_STEP_NONE) return failure;
  child_release(child);
  if (hears(child)) return failure;
  end(child);
  failure = child_bear_moved(plan, child);
  if (failure.step != CORRAL_STEP_NONE) return failure;
  child_release(child);
  if (hears(child)) return failure;
  end(child);
  return failed_at(CORRAL_STEP_CLONE_DRIVER, ECANCELED);
}

static struct failure probe_dead_leader(int cgroup, uint32_t* flags) {
  const struct child_plan plan = plan_for(cgroup, lose_leader);
  struct child child;
  struct failure failure = bear_living(&plan, &child);
  if (failure.step != CORRAL_STEP_NONE) return failure;
  int error = hears(&child) ? 0 : -ETIMEDOUT; /* the thread says that the leader is gone */
  if (error == 0) error = sys_write_at(cgroup, "cgroup.kill", "1");
  if (error == 0 && !readable(child.pidfd, kSurvivalMilliseconds)) *flags |= CORRAL_BUG_DEAD_LEADER;
  end(&child);
  return failed_at(error < 0 ? CORRAL_STEP_REQUEST : CORRAL_STEP_NONE, -error);
}

/* Twice, with a kill between: the kernel compares how often the parent's cgroup and the child's
 * were killed, and ours may have been, once. */
static struct failure probe_killed_birth(int cgroup, uint32_t* flags) {
  const struct child_plan plan = plan_for(cgroup, exit_at_once);
  struct failure failure = failed_at(CORRAL_STEP_NONE, 0);
  for (int round = 0; round < 2 && failure.step == CORRAL_STEP_NONE; ++round) {
    struct child child;
    failure = child_bear(&plan, &child);
    if (failure.step != CORRAL_STEP_NONE) break;
    child_release(&child);
    if (!child.moved && !hears(&child)) *flags |= CORRAL_BUG_KILLED_BIRTH;
    end(&child);
    const int error = sys_write_at(cgroup, "cgroup.kill", "1");
    if (error < 0) failure = failed_at(CORRAL_STEP_REQUEST, -error);
  }
  return failure;
}

void probe_run(int connection, int cgroup) {
  int keep[] = {connection, cgroup};
  sys_close_all_but(keep, 2);
  const struct sigaction ordinary = {.sa_handler = SIG_DFL};
  (void)sigaction(SIGCHLD, &ordinary, NULL);
  uint32_t flags = 0;
  struct failure failure = failed_at(CORRAL_STEP_NONE, 0);
  const int populated = sys_populated(cgroup);
  if (populated != 0) failure = failed_at(CORRAL_STEP_REQUEST, populated < 0 ? -populated : EBUSY);
  if (failure.step == CORRAL_STEP_NONE) failure = probe_dead_leader(cgroup, &flags);
  if (failure.step == CORRAL_STEP_NONE) failure = probe_killed_birth(cgroup, &flags);
  const struct corral_reply reply = {.step = failure.step, .error = failure.error, .flags = flags};
  request_answer(connection, reply, NULL, 0);
  _exit(0);
}
