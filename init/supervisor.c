#include "init/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/child.h"
#include "init/driver.h"
#include "init/reaper.h"
#include "init/record.h"
#include "init/spec.h"
#include "init/sys.h"

struct supervisor {
  const struct start* start;
  struct spec spec;
  struct child driver;
  int self; /* pidfd */
  int signals;
};

/* Whatever can fail is done before there is a driver. */
static struct failure become_parent(struct supervisor* supervisor) {
  const struct sigaction ordinary = {.sa_handler = SIG_DFL};
  (void)sigaction(SIGCHLD, &ordinary,
                  NULL); /* the spawner's children are not waited for; ours are */
  if (setsid() < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || chdir("/") < 0)
    return failed_at(CORRAL_STEP_SESSION, errno);
  sigset_t wanted;
  (void)sigemptyset(&wanted);
  (void)sigaddset(&wanted, SIGCHLD);
  (void)sigaddset(&wanted, SIGTERM);
  supervisor->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  supervisor->self = pidfd_open(getpid(), 0);
  if (supervisor->signals < 0 || supervisor->self < 0) return failed_at(CORRAL_STEP_PIPE, errno);
  return failed_at(CORRAL_STEP_NONE, 0);
}

static struct failure read_request(struct supervisor* supervisor) {
  const struct request* request = &supervisor->start->request;
  int error = spec_read(request->fds[kSpec], &supervisor->spec);
  if (error == 0 && request->count != kStartFds + spec_fds(&supervisor->spec)) error = -EBADMSG;
  return failed_at(error < 0 ? CORRAL_STEP_REQUEST : CORRAL_STEP_NONE, -error);
}

static void reap(pid_t pid) {
  (void)waitid(P_PID, (id_t)pid, NULL, WEXITED);
}

/* While the driver sets itself up and executes: what is closed now does not delay the answer. From
 * here on nobody else is born. */
static void shed(struct supervisor* supervisor) {
  const int* fds = supervisor->start->request.fds;
  int keep[] = {fds[kRun],
                fds[kWork],
                fds[kExitFile],
                supervisor->signals,
                supervisor->self,
                supervisor->driver.pidfd,
                supervisor->driver.channel,
                supervisor->start->connection};
  sys_close_all_but(keep, sizeof keep / sizeof *keep);
  spec_free(&supervisor->spec);
}

/* Records the driver and lets it go; false when it was killed at its birth: see the flag
 * CORRAL_BUG_KILLED_BIRTH. There is no driver then, nor after a failure. */
static bool let_go(struct supervisor* supervisor, struct failure* failure) {
  struct child* driver = &supervisor->driver;
  const int error = record_members(supervisor->start->request.fds[kRun], driver->pid);
  *failure = failed_at(error < 0 ? CORRAL_STEP_RECORD_DRIVER : CORRAL_STEP_NONE, -error);
  if (error == 0) {
    child_release(driver);
    struct failure word;
    if (child_hear(driver, &word)) {
      shed(supervisor);
      if (!child_hear(driver, failure)) return true; /* end of file: it executed */
    } else {
      *failure = failed_at(CORRAL_STEP_CLONE_DRIVER, ECANCELED);
    }
  }
  const bool stillborn = failure->error == ECANCELED && failure->step == CORRAL_STEP_CLONE_DRIVER;
  child_kill(driver);
  reap(driver->pid);
  return !stillborn;
}

static struct failure start_driver(struct supervisor* supervisor) {
  const int* fds = supervisor->start->request.fds;
  struct driver context = {.spec = &supervisor->spec, .fds = fds + kStartFds};
  const struct child_plan plan = {.cgroup = fds[kWork],
                                  .clone_step = CORRAL_STEP_CLONE_DRIVER,
                                  .move_step = CORRAL_STEP_MOVE_DRIVER,
                                  .prepare = driver_prepare,
                                  .body = driver_run,
                                  .context = &context};
  struct failure failure = child_bear(&plan, &supervisor->driver);
  if (failure.step != CORRAL_STEP_NONE || let_go(supervisor, &failure)) return failure;
  if (supervisor->driver.moved) return failure;
  failure = child_bear_moved(&plan, &supervisor->driver);
  if (failure.step == CORRAL_STEP_NONE) (void)let_go(supervisor, &failure);
  return failure;
}

static void answer(const struct supervisor* supervisor, struct failure failure) {
  struct corral_reply reply = {.step = failure.step, .error = failure.error};
  if (supervisor->start->self.moved) reply.flags |= CORRAL_SUPERVISOR_MOVED;
  if (supervisor->driver.moved) reply.flags |= CORRAL_DRIVER_MOVED;
  const int fds[] = {supervisor->self, supervisor->driver.pidfd};
  const bool executed = failure.step == CORRAL_STEP_NONE;
  if (executed) {
    reply.supervisor = getpid();
    reply.driver = supervisor->driver.pid;
  }
  request_answer(supervisor->start->connection, reply, fds, executed ? 2 : 0);
}

static void rest(struct supervisor* supervisor) {
  const int* fds = supervisor->start->request.fds;
  const struct reaper reaper = {.run = fds[kRun],
                                .work = fds[kWork],
                                .exit_file = fds[kExitFile],
                                .signals = supervisor->signals,
                                .driver = supervisor->driver.pid};
  int keep[] = {reaper.run, reaper.work, reaper.exit_file, reaper.signals};
  sys_close_all_but(keep, sizeof keep / sizeof *keep);
  reaper_run(&reaper);
}

void supervisor_run(int channel, void* context) {
  (void)channel; /* the spawner has heard that we live; there is no more to say */
  struct supervisor supervisor = {.start = context};
  struct failure failure = become_parent(&supervisor);
  if (failure.step == CORRAL_STEP_NONE) failure = read_request(&supervisor);
  if (failure.step == CORRAL_STEP_NONE) failure = start_driver(&supervisor);
  answer(&supervisor, failure);
  if (failure.step == CORRAL_STEP_NONE) rest(&supervisor);
  _exit(failure.step == CORRAL_STEP_NONE ? 0 : 1);
}
