#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "misbehave.h"

/* No machine is taken down by this: every chain is one process at a time, and ends by count or by
 * the clock. */
enum { kChains = 64, kSeconds = 30, kForks = 200000 };

static time_t now(void) {
  struct timespec time;
  if (clock_gettime(CLOCK_MONOTONIC, &time) < 0) fail("clock_gettime");
  return time.tv_sec;
}

static _Noreturn void chain(time_t deadline) {
  for (int forks = 0; forks < kForks && now() < deadline; ++forks) {
    const pid_t next = fork();
    if (next != 0) _exit(0); /* it goes on in the child, or ends where none can be had */
  }
  _exit(0);
}

enum after storm(int argc, char** argv) {
  (void)argc;
  const long chains = number(argv[0], kChains);
  const time_t deadline = now() + number(argv[1], kSeconds);
  struct gate gate = gate_open();
  for (long left = chains; left > 0; --left) {
    const pid_t first = fork_or_fail();
    if (first == 0) {
      if (fork_or_fail() != 0) _exit(0);
      gate_pass(&gate);
      chain(deadline);
    }
    if (waitpid(first, NULL, 0) < 0) fail("waitpid");
  }
  gate_wait(&gate, chains);
  return LEAVE;
}
