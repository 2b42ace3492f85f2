#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "misbehave.h"

enum after own_sessions(int argc, char** argv) {
  (void)argc;
  const long count = number(argv[0], 20000);
  struct gate gate = gate_open();
  for (long left = count; left > 0; --left) {
    if (fork_or_fail() != 0) continue;
    if (setsid() < 0) fail("setsid");
    gate_pass(&gate);
    doze();
  }
  gate_wait(&gate, count);
  return LEAVE;
}

enum after scrub(int argc, char** argv) {
  (void)argc, (void)argv;
  struct gate gate = gate_open();
  const pid_t middle = fork_or_fail();
  if (middle == 0) {
    if (setsid() < 0) fail("setsid");
    if (fork_or_fail() == 0) become_sleeper(&gate, (char*[]){NULL}, (char*[]){NULL});
    _exit(0);
  }
  if (waitpid(middle, NULL, 0) < 0) fail("waitpid");
  gate_wait(&gate, 1);
  return LEAVE;
}

/* As `exec setsid hook` in a shell: no fork. A caller that leads a session already stays in it. */
enum after session_in_place(int argc, char** argv) {
  (void)argc, (void)argv;
  if (setsid() < 0 && (errno != EPERM || getsid(0) != getpid())) fail("setsid");
  become_ready_sleeper();
}
