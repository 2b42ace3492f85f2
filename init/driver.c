#include "init/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/child.h"
#include "init/sys.h"

enum { kStatusFd = 3, kSoftFileLimit = 1024 };

static struct failure new_session(void) {
  if (setsid() < 0) return failed_at(CORRAL_STEP_SESSION, errno);
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
      errno != EPERM && errno != EDQUOT)
    return failed_at(CORRAL_STEP_SESSION, errno);
  return failed_at(CORRAL_STEP_NONE, 0);
}

/* O_NONBLOCK, for the open alone: a FIFO that nobody reads is an error (ENXIO), not a hang. */
static int open_path(const char* path, int flags) {
  const int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
  if (fd < 0) return -1;
  const int status = fcntl(fd, F_GETFL);
  if (status >= 0) (void)fcntl(fd, F_SETFL, status & ~O_NONBLOCK);
  return fd;
}

static int open_stream(const struct spec* spec, int stream) {
  const int creating = O_WRONLY | O_CREAT;
  switch (spec->stream[stream]) {
    case CORRAL_STREAM_APPEND:
      return open_path(spec->path[stream], stream == STDIN_FILENO ? O_RDONLY : creating | O_APPEND);
    case CORRAL_STREAM_TRUNCATE:
      return open_path(spec->path[stream], stream == STDIN_FILENO ? O_RDONLY : creating | O_TRUNC);
    default:
      return open("/dev/null", (stream == STDIN_FILENO ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
  }
}

/* Every source is above 2, so that no dup2 here overwrites one that is still to come. */
static struct failure set_streams(const struct driver* driver) {
  static const uint32_t steps[] = {CORRAL_STEP_STDIN, CORRAL_STEP_STDOUT, CORRAL_STEP_STDERR};
  const int* next = driver->fds;
  for (int stream = 0; stream < 3; ++stream) {
    const int fd = driver->spec->stream[stream] == CORRAL_STREAM_FD
                       ? *next++
                       : open_stream(driver->spec, stream);
    if (fd < 0 || dup2(fd, stream) < 0) return failed_at(steps[stream], errno);
  }
  return failed_at(CORRAL_STEP_NONE, 0);
}

static struct failure set_limits(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) < 0) return failed_at(CORRAL_STEP_LIMITS, errno);
  files.rlim_cur = files.rlim_max < kSoftFileLimit ? files.rlim_max : kSoftFileLimit;
  if (setrlimit(RLIMIT_NOFILE, &files) < 0) return failed_at(CORRAL_STEP_LIMITS, errno);
  /* Refused where a privileged hand gave the spawner a score above 0. */
  (void)sys_write_at(AT_FDCWD, "/proc/self/oom_score_adj", "0");
  return failed_at(CORRAL_STEP_NONE, 0);
}

struct failure driver_prepare(const void* context) {
  const struct driver* driver = context;
  struct failure failure = new_session();
  if (failure.step == CORRAL_STEP_NONE) failure = set_streams(driver);
  if (failure.step == CORRAL_STEP_NONE && chdir(driver->spec->directory) < 0)
    failure = failed_at(CORRAL_STEP_WORKING_DIRECTORY, errno);
  if (failure.step == CORRAL_STEP_NONE) failure = set_limits();
  return failure;
}

/* The channel at a number that we know, nothing above it. */
static struct failure close_the_rest(int* channel) {
  if (*channel != kStatusFd && dup3(*channel, kStatusFd, O_CLOEXEC) < 0)
    return failed_at(CORRAL_STEP_PIPE, errno);
  *channel = kStatusFd;
  sys_close_from(kStatusFd + 1);
  return failed_at(CORRAL_STEP_NONE, 0);
}

static struct failure execute(const struct spec* spec) {
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  environ = spec->envp; /* where execvp(3) looks for PATH */
  (void)execvp(spec->argv[0], spec->argv);
  return failed_at(CORRAL_STEP_EXEC, errno);
}

void driver_run(int channel, void* context) {
  const struct driver* driver = context;
  struct failure failure = close_the_rest(&channel);
  if (failure.step == CORRAL_STEP_NONE) failure = execute(driver->spec);
  child_say(channel, failure);
  _exit(127);
}
