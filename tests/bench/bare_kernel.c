#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bare.h"

enum { kTries = 5000, kPauseNanoseconds = 1000000 };

void bare_fail(const char* what) {
  (void)fprintf(stderr, "bench_bare: %s: %s\n", what, strerror(errno));
  _exit(1);
}

uint64_t bare_nanoseconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

pid_t bare_clone_into(int cgroup) {
  struct clone_args arguments;
  memset(&arguments, 0, sizeof arguments);
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = (uint64_t)(unsigned)cgroup;
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) bare_fail("clone3");
  return (pid_t)pid;
}

void bare_make(const char* directory) {
  if (mkdir(directory, 0755) < 0) bare_fail(directory);
}

int bare_open(const char* directory) {
  const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) bare_fail(directory);
  return fd;
}

void bare_kill(const char* file) {
  const int fd = open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "1", 1) != 1) bare_fail(file);
  (void)close(fd);
}

void bare_remove(const char* directory) {
  const struct timespec pause = {.tv_nsec = kPauseNanoseconds};
  for (int tries = 0; rmdir(directory) < 0; ++tries) {
    if (errno != EBUSY || tries == kTries) bare_fail(directory);
    (void)nanosleep(&pause, NULL);
  }
}

void bare_reap_all(void) {
  while (wait(NULL) > 0 || errno == EINTR) continue;
}
