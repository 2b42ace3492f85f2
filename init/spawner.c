#include "init/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
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

enum { kMaxPending = 64, kPauseMilliseconds = 100 };

struct spawner {
  struct listener listener;
  int signals; /* signalfd(2) of SIGTERM and SIGINT */
  int spare;   /* given up for a moment when there is no fd left, so that a client can be told */
  int64_t deaf_until; /* CLOCK_MONOTONIC, milliseconds: accepts nobody before */
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
 * for ever that it is there. False where even that is not possible. */
static bool turn_away(struct spawner* spawner, int error) {
  (void)close(spawner->spare);
  const int connection = accept4(spawner->listener.fd, NULL, NULL, SOCK_CLOEXEC);
  if (connection >= 0) {
    request_answer(connection, (struct corral_reply){.step = CORRAL_STEP_REQUEST, .error = error},
                   NULL, 0);
    (void)close(connection);
  }
  spawner->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  return connection >= 0;
}

static void accept_one(struct spawner* spawner) {
  struct pending* slot = free_slot(spawner);
  if (slot == NULL) return;
  const int connection = accept4(spawner->listener.fd, NULL, NULL, SOCK_CLOEXEC);
  if (connection >= 0) {
    pending_open(slot, connection);
    return;
  }
  if (errno == EAGAIN || errno == ECONNABORTED) return;
  if ((errno == EMFILE || errno == ENFILE) && turn_away(spawner, errno)) return;
  spawner->deaf_until = sys_milliseconds() + kPauseMilliseconds;
}

/* What poll(2) is given. Only what is there: it refuses more entries than RLIMIT_NOFILE, used or
 * not. */
struct wait {
  struct pollfd sources[2 + kMaxPending]; /* signals, listener, then the pending ones */
  struct pending* pending[2 + kMaxPending];
  nfds_t count;
  int64_t until; /* CLOCK_MONOTONIC, milliseconds; INT64_MAX: for ever */
};

static void add_source(struct wait* wait, int fd, int64_t deadline, struct pending* pending) {
  wait->sources[wait->count] = (struct pollfd){.fd = fd, .events = POLLIN};
  wait->pending[wait->count++] = pending;
  if (deadline < wait->until) wait->until = deadline;
}

/* The listener is left out while all slots are taken, and for a moment when the system has nothing
 * left to accept with: clients wait in its backlog. */
static void what_to_wait_for(struct spawner* spawner, struct wait* wait) {
  wait->count = 0;
  wait->until = INT64_MAX;
  const bool deaf = spawner->deaf_until > 0 && sys_milliseconds() < spawner->deaf_until;
  if (!deaf) spawner->deaf_until = 0;
  add_source(wait, spawner->signals, INT64_MAX, NULL);
  add_source(wait, deaf || free_slot(spawner) == NULL ? -1 : spawner->listener.fd,
             deaf ? spawner->deaf_until : INT64_MAX, NULL);
  for (size_t i = 0; i < kMaxPending; ++i) {
    struct pending* slot = &spawner->pending[i];
    if (slot->connection >= 0) add_source(wait, pending_fd(slot), slot->deadline, slot);
  }
}

static int milliseconds_until(int64_t moment) {
  if (moment == INT64_MAX) return -1;
  const int64_t left = moment - sys_milliseconds();
  return left < 0 ? 0 : (int)left;
}

static void serve(struct spawner* spawner) {
  struct wait wait;
  for (;;) {
    what_to_wait_for(spawner, &wait);
    (void)poll(wait.sources, wait.count, milliseconds_until(wait.until));
    if (wait.sources[0].revents != 0) return;
    const int64_t now = wait.count > 2 ? sys_milliseconds() : 0;
    for (nfds_t i = 2; i < wait.count; ++i) {
      if (wait.sources[i].revents != 0)
        pending_go_on(wait.pending[i]);
      else if (wait.pending[i]->deadline <= now)
        pending_give_up(wait.pending[i]);
    }
    if (wait.sources[1].revents != 0) accept_one(spawner);
  }
}

int spawner_run(const char* path, int ready_fd) {
  static struct spawner spawner;
  set_surroundings();
  const int error = listener_open(&spawner.listener, path);
  if (error < 0) return error;
  for (size_t i = 0; i < kMaxPending; ++i) spawner.pending[i].connection = -1;
  spawner.spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  spawner.signals = open_signals();
  const int failure = spawner.signals < 0 ? -errno : 0;
  if (failure == 0) {
    notify_ready(ready_fd);
    serve(&spawner);
  }
  listener_close(&spawner.listener);
  return failure;
}
