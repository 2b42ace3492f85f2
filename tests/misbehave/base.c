#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "misbehave.h"

void fail(const char* what) {
  perror(what);
  _exit(kFailed);
}

long number(const char* text, long most) {
  char* end;
  errno = 0;
  const long value = strtol(text, &end, 10);
  if (errno == 0 && (end == text || *end != '\0' || value < 0 || value > most)) errno = ERANGE;
  if (errno != 0) fail(text);
  return value;
}

pid_t fork_or_fail(void) {
  const pid_t pid = fork();
  if (pid < 0) fail("fork");
  return pid;
}

void doze(void) {
  alarm(kLifetime); /* in vain where SIGALRM is ignored: hence the loop */
  struct timespec left = {.tv_sec = kLifetime};
  while (nanosleep(&left, &left) < 0 && errno == EINTR) continue;
  _exit(0);
}

void die_in_time(void) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  struct itimerspec once = {.it_value = {.tv_sec = kLifetime}};
  timer_t timer;
  if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0) fail("timer_create");
  if (timer_settime(timer, 0, &once, NULL) < 0) fail("timer_settime");
}

void become(char* const argv[], char* const envp[]) {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) fail("readlink /proc/self/exe");
  self[n] = '\0';
  execve(self, argv, envp);
  fail(self);
}

void become_sleeper(struct gate* gate, char* const more[], char* const envp[]) {
  char name[] = "misbehave", sleep[] = "sleeper", enter[16];
  (void)snprintf(enter, sizeof enter, "%d", gate->enter);
  if (fcntl(gate->enter, F_SETFD, 0) < 0) fail("fcntl F_SETFD");
  size_t count = 0;
  while (more[count]) ++count;
  char* argv[count + 4];
  argv[0] = name, argv[1] = sleep, argv[2] = enter;
  memcpy(argv + 3, more, (count + 1) * sizeof *argv);
  become(argv, envp);
}

struct gate gate_open(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) fail("pipe2");
  return (struct gate){.enter = ends[1], .exit = ends[0]};
}

void gate_pass(struct gate* gate) {
  if (write(gate->enter, "", 1) != 1) fail("pass the gate");
  close(gate->enter);
  close(gate->exit);
}

void gate_wait(struct gate* gate, long count) {
  char passed[512];
  close(gate->enter);
  while (count > 0) {
    const ssize_t n = read(gate->exit, passed, sizeof passed);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("a child did not get there");
    count -= n;
  }
  close(gate->exit);
}
