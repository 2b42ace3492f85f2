#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "misbehave.h"

/* Finds the line of a file of /proc that holds `mark` and returns it in `line`. */
static void find_line(const char* path, const char* mark, char* line, int size) {
  FILE* file = fopen(path, "re");
  if (!file) fail(path);
  while (fgets(line, size, file)) {
    if (!strstr(line, mark)) continue;
    line[strcspn(line, "\n")] = '\0';
    (void)fclose(file);
    return;
  }
  errno = ENOENT;
  fail(mark);
}

/* The directory of the caller's own cgroup, with `below` at the end. */
static int open_own_group(const char* below) {
  char mount[4096], group[4096], path[8192 + 256];
  find_line("/proc/self/mountinfo", " - cgroup2 ", mount, sizeof mount);
  find_line("/proc/self/cgroup", "0::", group, sizeof group);
  char* field = strtok(mount, " "); /* the fifth is the mount point (proc_pid_mountinfo(5)) */
  for (int i = 0; i < 4 && field; ++i) field = strtok(NULL, " ");
  if (!field) fail("mountinfo");
  (void)snprintf(path, sizeof path, "%s%s%s", field, group + 3, below);
  const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(path);
  return fd;
}

static void write_to(int group, const char* file, const char* text) {
  const int fd = openat(group, file, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) fail(file);
  close(fd);
}

static void enter(int group, pid_t pid) {
  char text[16];
  (void)snprintf(text, sizeof text, "%d", (int)pid);
  write_to(group, "cgroup.procs", text);
}

static int make_group(int parent, const char* name) {
  if (mkdirat(parent, name, 0755) < 0) fail(name);
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(name);
  return fd;
}

static pid_t leave_sleeper_in(int group) {
  const pid_t pid = fork_or_fail();
  if (pid == 0) {
    die_in_time(); /* frozen, SIGALRM might wait */
    doze();
  }
  enter(group, pid);
  return pid;
}

static void wait_frozen(int group) {
  const int fd = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail("cgroup.events");
  for (;;) {
    char text[256];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n < 0) fail("cgroup.events");
    text[n] = '\0';
    if (strstr(text, "frozen 1")) break;
    struct pollfd wait = {.fd = fd, .events = POLLPRI};
    if (poll(&wait, 1, -1) < 0 && errno != EINTR) fail("poll");
  }
  close(fd);
}

enum after freeze_inner(int argc, char** argv) {
  (void)argc, (void)argv;
  const int inner = make_group(open_own_group(""), "inner");
  (void)leave_sleeper_in(inner);
  write_to(inner, "cgroup.freeze", "1");
  wait_frozen(inner);
  return LEAVE;
}

enum after nested(int argc, char** argv) {
  (void)argc;
  int group = open_own_group("");
  for (long left = number(argv[0], 1000); left > 0; --left) {
    const int below = make_group(group, "n");
    close(group);
    group = below;
  }
  (void)leave_sleeper_in(group);
  return LEAVE;
}

/* A path is relative to the parent of the own cgroup: in a run, "init" and "." are where nothing of
 * it should be. */
static int open_group(const char* path) {
  const int parent = open_own_group("/..");
  const int fd = openat(parent, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(path);
  close(parent);
  return fd;
}

enum after hide(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) (void)leave_sleeper_in(open_group(argv[i]));
  return LEAVE;
}

enum after zombie_holder(int argc, char** argv) {
  (void)argc;
  const pid_t child = leave_sleeper_in(open_group(argv[0]));
  siginfo_t info;
  if (kill(child, SIGKILL) < 0) fail("kill");
  if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0) fail("waitid");
  return STAY;
}
