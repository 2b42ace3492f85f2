#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "bare.h"

/* As long as the record of a run without labels. */
static const char kRecord[512];

/* The supervisor's part: born in init/, bears the driver in work/, and reaps it. */
_Noreturn static void supervise(int work, int channel, const char* program) {
  const pid_t driver = bare_clone_into(work);
  if (driver == 0) {
    char* const argv[] = {(char[]){"driver"}, NULL};
    (void)execve(program, argv, (char*[]){NULL});
    bare_fail(program);
  }
  (void)close(channel);
  (void)waitpid(driver, NULL, 0); /* both are killed together */
  _exit(0);
}

static void await_exec(int channel) {
  char byte;
  ssize_t length;
  do length = read(channel, &byte, sizeof byte);
  while (length < 0 && errno == EINTR);
  if (length != 0) bare_fail("wait for the exec");
}

uint64_t bare_start(const char* program) {
  int channel[2];
  if (pipe2(channel, O_CLOEXEC) < 0) bare_fail("pipe2");
  const uint64_t begun = bare_nanoseconds();
  bare_make("bare");
  if (setxattr("bare", "user.corral.run", kRecord, sizeof kRecord, 0) < 0) bare_fail("setxattr");
  bare_make("bare/init");
  bare_make("bare/work");
  const int init = bare_open("bare/init");
  const int work = bare_open("bare/work");
  if (bare_clone_into(init) == 0) supervise(work, channel[1], program);
  (void)close(channel[1]);
  await_exec(channel[0]); /* each holder of the other end has executed or let it go */
  const uint64_t took = bare_nanoseconds() - begun;

  bare_kill("bare/cgroup.kill");
  (void)close(channel[0]);
  (void)close(init);
  (void)close(work);
  bare_reap_all();
  bare_remove("bare/work");
  bare_remove("bare/init");
  bare_remove("bare");
  return took;
}
