#include "init/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/child.h"
#include "init/listen.h"
#include "init/notify.h"
#include "init/pending.h"
#include "init/request.h"
#include "init/sys.h"

enum { kMaxPending = 64 };

struct spawner {
  struct listener listener;
  int signals; /* signalfd(2) of SIGTERM and SIGINT */
  int spare;   /* given up for a moment when there is no fd left, so that a client can be told */
  struct pending pending[kMaxPending];
};

/* What every supervisor and driver then inherits: see driver.h. */
static void set_surroundings(void) {
  const struct sigaction unwaited = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
  unsigned long ordinary[4]; /* the kernel's struct sigaction; the C library refuses two signals */
  memset(ordinary, 0, sizeof ordinary);
  for (int number = 1; number < _NSIG; ++number)
    (void)syscall(SYS_rt_sigaction, number, ordinary, NULL, (size_t)_NSIG / 8);
  (void)sigaction(SIGCHLD, &unwaited, NULL);
  sigset_t all;
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, NULL);
  (void)umask(022);
  /* For the supervisors: memory pressure must not take the one who knows the exit status. */
  (void)sys_write_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000");
}

static int open_signals(void) {
  sigset_t wanted;
  (void)sigemptyset(&wanted);
  (void)sigaddset(&wanted, SIGTERM);
  (void)sigaddset(&wanted, SIGINT);
  return signalfd(-1, &wanted, SFD_CLOEXEC);
}

static struct pending* free_slot(struct spawner* spawner) {
  for (size_t i = 0; i < kMaxPending; ++i)
    if (spawner->pending[i].connection < 0) return &spawner->pending[i];
  return NULL;
}

/* One connection more than we have fds for: it is accepted, told and closed, or poll(2) would say
 * for ever that it is there. */
static void turn_away(struct spawner* spawner, int error) {
  (void)close(spawner->spare);
  const int connection = accept4(spawner->listener.fd, NULL, NULL, SOCK_CLOEXEC);
  if (connection >= 0) {
    request_answer(connection, (struct corral_reply){.step = CORRAL_STEP_REQUEST, .error = error},
                   NULL, 0);
    (void)close(connection);
  }
  spawner->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_one(struct spawner* spawner) {
  struct pending* slot = free_slot(spawner);
  if (slot == NULL) return;
  const int connection = accept4(spawner->listener.fd, NULL, NULL, SOCK_CLOEXEC);
  if (connection >= 0)
    pending_open(slot, connection);
  else if (errno == EMFILE || errno == ENFILE)
    turn_away(spawner, errno);
}

/* Fills in what to wait for; answers how long, in milliseconds, -1 for ever. The listener is left
 * out while all slots are taken: clients wait in its backlog. */
static int what_to_wait_for(struct spawner* spawner, struct pollfd sources[2 + kMaxPending]) {
  int64_t first = INT64_MAX;
  for (size_t i = 0; i < kMaxPending; ++i) {
    const struct pending* slot = &spawner->pending[i];
    sources[2 + i] = (struct pollfd){.fd = pending_fd(slot), .events = POLLIN};
    if (slot->connection >= 0 && slot->deadline < first) first = slot->deadline;
  }
  sources[0] = (struct pollfd){.fd = spawner->signals, .events = POLLIN};
  sources[1] =
      (struct pollfd){.fd = free_slot(spawner) ? spawner->listener.fd : -1, .events = POLLIN};
  if (first == INT64_MAX) return -1;
  const int64_t left = first - sys_milliseconds();
  return left < 0 ? 0 : (int)left;
}

static void serve(struct spawner* spawner) {
  struct pollfd sources[2 + kMaxPending];
  for (;;) {
    const int timeout = what_to_wait_for(spawner, sources);
    (void)poll(sources, 2 + kMaxPending, timeout);
    if (sources[0].revents != 0) return;
    const int64_t now = timeout < 0 ? 0 : sys_milliseconds();
    for (size_t i = 0; i < kMaxPending; ++i) {
      struct pending* slot = &spawner->pending[i];
      if (slot->connection < 0) continue;
      if (sources[2 + i].revents != 0)
        pending_go_on(slot);
      else if (slot->deadline <= now)
        pending_give_up(slot);
    }
    if (sources[1].revents != 0) accept_one(spawner);
  }
}

int spawner_run(const char* path, int ready_fd) {
  static struct spawner spawner;
  set_surroundings();
  const int error = listener_open(&spawner.listener, path);
  if (error < 0) return error;
  for (size_t i = 0; i < kMaxPending; ++i) spawner.pending[i].connection = -1;
  spawner.signals = open_signals();
  spawner.spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  notify_ready(ready_fd);
  serve(&spawner);
  listener_close(&spawner.listener);
  return 0;
}
