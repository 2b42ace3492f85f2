#include "init/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "init/text.h"

pid_t sys_clone_into(int cgroup, int* pidfd) {
  struct clone_args arguments;
  memset(&arguments, 0, sizeof arguments);
  arguments.flags = CLONE_INTO_CGROUP | CLONE_PIDFD;
  arguments.pidfd = (uintptr_t)pidfd;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = (uint64_t)(unsigned)cgroup;
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  return pid < 0 ? -errno : (pid_t)pid;
}

int sys_clone_into_refused(int error) {
  return error == ENOSYS || error == EINVAL || error == E2BIG || error == EPERM ||
         error == EACCES || error == EBUSY || error == EOPNOTSUPP;
}

static void close_span(unsigned first, unsigned last) {
  if (first > last || close_range(first, last, 0) == 0) return;
  /* Before Linux 5.9, or under a seccomp filter that does not know the call. */
  const long limit = sysconf(_SC_OPEN_MAX);
  for (long fd = first; fd <= (long)last && fd < limit; ++fd) (void)close((int)fd);
}

void sys_close_from(unsigned first) {
  close_span(first, ~0U);
}

void sys_close_all_but(int* keep, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    for (size_t j = i; j > 0 && keep[j - 1] > keep[j]; --j) {
      const int other = keep[j];
      keep[j] = keep[j - 1];
      keep[j - 1] = other;
    }
  }
  unsigned next = 0;
  for (size_t i = 0; i < count; ++i) {
    const unsigned kept = (unsigned)keep[i];
    if (kept > next) close_span(next, kept - 1);
    next = kept + 1;
  }
  close_span(next, ~0U);
}

int sys_write_at(int dir, const char* path, const char* text) {
  const int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const size_t length = strlen(text);
  const ssize_t written = write(fd, text, length);
  const int result = written < 0 ? -errno : (size_t)written == length ? 0 : -EIO;
  (void)close(fd);
  return result;
}

int sys_read_at(int dir, const char* path, char* buffer, size_t size) {
  const int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const ssize_t length = read(fd, buffer, size - 1);
  const int result = length < 0 ? -errno : 0;
  buffer[length < 0 ? 0 : length] = '\0';
  (void)close(fd);
  return result;
}

int sys_move(int cgroup, pid_t pid) {
  struct text line = {.length = 0};
  text_number(&line, (uint64_t)pid);
  line.bytes[line.length] = '\0';
  return sys_write_at(cgroup, "cgroup.procs", line.bytes);
}

int sys_populated(int cgroup) {
  char events[128];
  const int error = sys_read_at(cgroup, "cgroup.events", events, sizeof events);
  return error < 0 ? error : text_keyed_digit(events, "populated") == 1;
}

uint64_t sys_start_time(pid_t pid) {
  struct text path = {.length = 0};
  text_add(&path, "/proc/");
  text_number(&path, (uint64_t)pid);
  text_add(&path, "/stat");
  path.bytes[path.length] = '\0';
  char line[512];
  return sys_read_at(AT_FDCWD, path.bytes, line, sizeof line) < 0 ? 0 : text_stat_field(line, 22);
}

int64_t sys_milliseconds(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
