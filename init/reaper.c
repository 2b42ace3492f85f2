#include "init/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/record.h"
#include "init/text.h"

/* __WALL: a child whose exit signal is not SIGCHLD is a child too. */
static const int kPeek = WEXITED | WNOHANG | WNOWAIT | __WALL;
static const int kReap = WEXITED | WNOHANG | __WALL;

/* True when the driver's exit is recorded and the driver reaped. */
static bool record_driver(const struct reaper* reaper) {
  siginfo_t exit = {.si_pid = 0};
  if (waitid(P_PID, (id_t)reaper->driver, &exit, kPeek) < 0 || exit.si_pid == 0) return false;
  record_exit(reaper->run, reaper->exit_file, &exit);
  (void)waitid(P_PID, (id_t)reaper->driver, &exit, kReap);
  return true;
}

/* Reaps one orphan; false when there is none. Looks before it reaps, because the driver may have
 * exited since record_driver() looked. */
static bool reap_one(const struct reaper* reaper, bool recorded) {
  siginfo_t exit = {.si_pid = 0};
  if (waitid(P_ALL, 0, &exit, recorded ? kReap : kPeek) < 0 || exit.si_pid == 0) return false;
  if (!recorded && exit.si_pid != reaper->driver)
    (void)waitid(P_PID, (id_t)exit.si_pid, &exit, kReap);
  return true;
}

/* The driver first, each time: its status must not wait behind a storm of orphans. */
static bool reap_all(const struct reaper* reaper, bool recorded) {
  do recorded = recorded || record_driver(reaper);
  while (reap_one(reaper, recorded));
  return recorded;
}

/* Takes what has come; true when SIGTERM is among it. */
static bool take_signals(int signals) {
  struct signalfd_siginfo taken[2];
  const ssize_t length = read(signals, taken, sizeof taken);
  bool terminate = false;
  for (ssize_t i = 0; i < length / (ssize_t)sizeof *taken; ++i)
    terminate |= taken[i].ssi_signo == SIGTERM;
  return terminate;
}

/* Reading rearms POLLPRI (cgroup-v2.rst, "[Un]populated Notification"). A directory that is gone,
 * or whose events cannot be read, holds nobody. */
static bool is_empty(int events) {
  char text[128];
  const ssize_t length = pread(events, text, sizeof text - 1, 0);
  text[length < 0 ? 0 : length] = '\0';
  return text_keyed_digit(text, "populated") != 1;
}

void reaper_run(const struct reaper* reaper) {
  struct pollfd sources[] = {{.fd = reaper->signals, .events = POLLIN},
                             {.fd = -1, .events = POLLPRI}};
  bool recorded = false, asked = false;
  for (;;) {
    recorded = reap_all(reaper, recorded);
    if (asked && recorded) {
      /* Not before: of a directory that was removed poll(2) would say for ever that it changed. */
      if (sources[1].fd < 0)
        sources[1].fd = openat(reaper->work, "cgroup.events", O_RDONLY | O_CLOEXEC);
      if (is_empty(sources[1].fd)) return;
    }
    (void)poll(sources, 2, -1);
    if ((sources[0].revents & POLLIN) != 0 && take_signals(reaper->signals)) asked = true;
  }
}
