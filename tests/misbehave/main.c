#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "misbehave.h"

/* Each shape with the case (docs/cases.md) that it is for. "A child" is left behind when the
 * caller exits. */
static const struct row {
  const char* name;
  const char* usage;
  int arguments; /* at least */
  shape* run;
  const char* help;
} kShapes[] = {
    {"jobs", "N", 1, jobs, "A1: N background children"},
    {"pipe-holder", "", 0, pipe_holder, "A3: a child that keeps standard output open"},
    {"double-fork", "", 0, double_fork, "A4: a grandchild whose parent has gone"},
    {"setsid", "N", 1, own_sessions, "A5, A13: N children, each in its own session"},
    {"servers", "N FILE", 2, servers, "A6: N workers and a web server; ports are listed in FILE"},
    {"marker", "SECONDS FILE", 2, marker, "A7: a child that makes FILE after SECONDS"},
    {"scrub", "", 0, scrub, "A9: a daemon without parent, session and environment"},
    {"storm", "CHAINS SECONDS", 2, storm, "A10: processes that fork and exit, over and over"},
    {"ignore-term", "", 0, ignore_term, "A11: a child that ignores SIGTERM, as the caller does"},
    {"term-forks", "", 0, term_forks, "A11: a child that on SIGTERM leaves \"grandchild\""},
    {"stopped", "", 0, stopped, "A11: a child that has stopped itself"},
    {"traced", "", 0, traced, "A11: a tracer, and its child stopped by ptrace"},
    {"dead-leader", "", 0, dead_leader, "A14: itself, alive in its second thread only"},
    {"exec-other", "", 0, exec_other, "A14: itself, executed anew as another"},
    {"session-in-place", "", 0, session_in_place, "B4: itself, anew as a session leader"},
    {"freeze-inner", "", 0, freeze_inner, "C1: a child in a frozen cgroup below the own one"},
    {"hung-mount", "DIR", 1, hung_mount, "C2: itself, server of a mount that never answers"},
    {"nested", "DEPTH", 1, nested, "C3: a child DEPTH cgroups below the own one"},
    {"zombie-holder", "GROUP", 1, zombie_holder, "C4: itself, parent of a zombie from GROUP"},
    {"die", "SIGNAL", 1, die_of, "C7: itself, of that signal"},
    {"exit", "CODE", 1, exit_with, "itself, with that status"},
    {"hide", "GROUP...", 1, hide, "a child in each GROUP"},
    {"no-wait", "N", 1, no_wait, "itself, parent of N zombies"},
    {"bad-name", "", 0, bad_name, "a child whose name is no UTF-8 and holds a newline"},
    {"big-argv", "N BYTES", 2, big_argv, "N children with BYTES of arguments each"},
    {"sleeper", "FD [ready]", 1, sleeper, "what the others execute: says so on FD, and sleeps"},
};

static const struct row* find(const char* name) {
  for (size_t i = 0; i < sizeof kShapes / sizeof *kShapes; ++i)
    if (strcmp(kShapes[i].name, name) == 0) return &kShapes[i];
  return NULL;
}

static _Noreturn void usage(void) {
  (void)fputs(
      "usage: misbehave [--ready=FILE] [--stay] [--child] SHAPE [ARGUMENT...]\n"
      "  --ready=FILE  appends \"ready\" there, instead of printing it\n"
      "  --stay        does not exit when ready\n"
      "  --child       the shape is made by a child, and left behind\n"
      "GROUP is a cgroup's directory, relative to the parent of the own one.\n\n",
      stderr);
  for (size_t i = 0; i < sizeof kShapes / sizeof *kShapes; ++i) {
    const struct row* row = &kShapes[i];
    (void)fprintf(stderr, "  %-16s %-15s %s\n", row->name, row->usage, row->help);
  }
  _exit(kFailed);
}

static const char* ready_file; /* NULL: ready_fd */
static int ready_fd = STDOUT_FILENO;

static int open_ready(void) {
  if (!ready_file) return ready_fd;
  const int fd = open(ready_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) fail(ready_file);
  return fd;
}

static void write_ready(int fd) {
  static const char kReady[] = "ready\n";
  if (write(fd, kReady, sizeof kReady - 1) < 0) fail("say ready");
  if (fd > STDERR_FILENO) close(fd);
}

void say_ready(void) {
  write_ready(open_ready());
}

void become_ready_sleeper(void) {
  const int fd = open_ready();
  char text[16];
  (void)snprintf(text, sizeof text, "%d", fd);
  char name[] = "something-else", sleep[] = "sleeper", ready[] = "ready";
  if (fcntl(fd, F_SETFD, 0) < 0) fail("fcntl F_SETFD");
  become((char*[]){name, sleep, text, ready, NULL}, environ);
}

/* What the others execute. It has said all there is to say, so it never returns. */
enum after sleeper(int argc, char** argv) {
  const int fd = (int)number(argv[0], 1 << 20);
  if (argc > 1 && strcmp(argv[1], "ready") == 0) {
    write_ready(fd);
  } else {
    if (write(fd, "", 1) != 1) fail("pass the gate");
    close(fd);
  }
  doze();
}

/* The shape is made by a child, which says that it is ready to us and not to the caller. */
static bool fork_shape(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) fail("pipe2");
  if (fork_or_fail() == 0) {
    close(ends[0]);
    ready_fd = ends[1];
    ready_file = NULL;
    return true;
  }
  char text[16];
  close(ends[1]);
  ssize_t n;
  while ((n = read(ends[0], text, sizeof text)) < 0 && errno == EINTR) continue;
  if (n <= 0) fail("the child did not get ready");
  close(ends[0]);
  return false;
}

int main(int argc, char** argv) {
  bool stay = false, child = false;
  int i = 1;
  for (; i < argc && strncmp(argv[i], "--", 2) == 0; ++i) {
    if (strncmp(argv[i], "--ready=", 8) == 0)
      ready_file = argv[i] + 8;
    else if (strcmp(argv[i], "--stay") == 0)
      stay = true;
    else if (strcmp(argv[i], "--child") == 0)
      child = true;
    else
      usage();
  }
  const struct row* row = i < argc ? find(argv[i]) : NULL;
  const int arguments = argc - i - 1;
  if (!row || arguments < row->arguments) usage();

  enum after after = LEAVE;
  if (!child || fork_shape()) after = row->run(arguments, argv + i + 1);
  say_ready();
  if (stay || after == STAY) doze();
  return 0;
}
