#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"

/* The event of cgroup.events comes up to 16 ms late, the read does not: so often it is read. */
enum { kReadEveryMilliseconds = 1 };

static size_t read_all(int fd, char* buffer, size_t size, off_t from) {
  const ssize_t length = pread(fd, buffer, size, from);
  if (length < 0) bare_fail("read");
  return (size_t)length;
}

static uint64_t count_processes(const char* procs) {
  const int fd = open(procs, O_RDONLY | O_CLOEXEC);
  if (fd < 0) bare_fail(procs);
  char buffer[65536];
  uint64_t lines = 0;
  off_t from = 0;
  for (size_t length; (length = read_all(fd, buffer, sizeof buffer, from)) > 0;) {
    for (size_t i = 0; i < length; ++i) lines += buffer[i] == '\n';
    from += (off_t)length;
  }
  (void)close(fd);
  return lines;
}

/* Returns when the whole tree stands. */
static void grow(const char* misbehave, const char* count) {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) < 0) bare_fail("pipe2");
  const int group = bare_open("bare");
  const pid_t tree = bare_clone_into(group);
  if (tree == 0) {
    if (dup2(ready[1], STDOUT_FILENO) < 0) bare_fail("dup2");
    (void)execl(misbehave, misbehave, "--stay", "setsid", count, (char*)NULL);
    bare_fail(misbehave);
  }
  (void)close(ready[1]);
  (void)close(group);
  char word[16];
  if (read(ready[0], word, sizeof word) <= 0) bare_fail("grow the tree");
  (void)close(ready[0]);
}

static void await_empty(int events) {
  char text[128];
  for (;;) {
    text[read_all(events, text, sizeof text - 1, 0)] = '\0';
    if (strstr(text, "populated 0") != NULL) return;
    struct pollfd changed = {.fd = events, .events = POLLPRI};
    (void)poll(&changed, 1, kReadEveryMilliseconds);
  }
}

uint64_t bare_end(const char* misbehave, const char* count, uint64_t* seen) {
  bare_make("bare");
  grow(misbehave, count);
  *seen = count_processes("bare/cgroup.procs");
  const int events = open("bare/cgroup.events", O_RDONLY | O_CLOEXEC);
  const uint64_t begun = bare_nanoseconds();
  if (events < 0) bare_fail("cgroup.events");
  bare_kill("bare/cgroup.kill");
  await_empty(events);
  const uint64_t took = bare_nanoseconds() - begun;

  (void)close(events);
  bare_reap_all();
  bare_remove("bare");
  return took;
}
