#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "misbehave.h"

enum after jobs(int argc, char** argv) {
  (void)argc;
  for (long left = number(argv[0], 10000); left > 0; --left)
    if (fork_or_fail() == 0) doze();
  return LEAVE;
}

enum after pipe_holder(int argc, char** argv) {
  (void)argc, (void)argv;
  if (fork_or_fail() == 0) doze();
  return LEAVE;
}

enum after double_fork(int argc, char** argv) {
  (void)argc, (void)argv;
  const pid_t middle = fork_or_fail();
  if (middle == 0) {
    if (fork_or_fail() == 0) doze();
    _exit(0);
  }
  /* The grandchild has its new parent before the middle one can be reaped. */
  if (waitpid(middle, NULL, 0) < 0) fail("waitpid");
  return LEAVE;
}

enum after marker(int argc, char** argv) {
  (void)argc;
  const struct timespec delay = {.tv_sec = number(argv[0], kLifetime)};
  if (fork_or_fail() == 0) {
    (void)nanosleep(&delay, NULL); /* no handler is set: nothing interrupts it that does not kill */
    if (open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0666) < 0) fail(argv[1]);
    _exit(0);
  }
  return LEAVE;
}

enum after no_wait(int argc, char** argv) {
  (void)argc;
  for (long left = number(argv[0], 10000); left > 0; --left) {
    const pid_t child = fork_or_fail();
    if (child == 0) _exit(0);
    siginfo_t info;
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0) fail("waitid");
  }
  return STAY;
}
