#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "misbehave.h"

enum after ignore_term(int argc, char** argv) {
  (void)argc, (void)argv;
  if (signal(SIGTERM, SIG_IGN) == SIG_ERR) fail("signal");
  if (fork_or_fail() == 0) doze(); /* it inherits that */
  return LEAVE;
}

static void leave_grandchild(int number_of_signal) {
  (void)number_of_signal;
  const pid_t pid = fork();
  if (pid != 0) _exit(0);
  (void)prctl(PR_SET_NAME, "grandchild");
  (void)signal(SIGTERM, SIG_IGN); /* a second SIGTERM must not be what ends it */
  doze();
}

enum after term_forks(int argc, char** argv) {
  (void)argc, (void)argv;
  struct gate gate = gate_open();
  if (fork_or_fail() == 0) {
    const struct sigaction action = {.sa_handler = leave_grandchild};
    if (sigaction(SIGTERM, &action, NULL) < 0) fail("sigaction");
    gate_pass(&gate);
    doze();
  }
  gate_wait(&gate, 1);
  return LEAVE;
}

enum after stopped(int argc, char** argv) {
  (void)argc, (void)argv;
  const pid_t child = fork_or_fail();
  if (child == 0) {
    die_in_time();
    (void)raise(SIGSTOP);
    doze();
  }
  siginfo_t info;
  if (waitid(P_PID, (id_t)child, &info, WSTOPPED) < 0) fail("waitid");
  return LEAVE;
}

static _Noreturn void trace_a_child(struct gate* gate) {
  const pid_t traced_child = fork_or_fail();
  if (traced_child == 0) {
    die_in_time();
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) fail("ptrace PTRACE_TRACEME");
    (void)raise(SIGSTOP);
    doze();
  }
  int status;
  if (waitpid(traced_child, &status, 0) < 0 || !WIFSTOPPED(status)) fail("waitpid");
  gate_pass(gate);
  doze();
}

enum after traced(int argc, char** argv) {
  (void)argc, (void)argv;
  struct gate gate = gate_open();
  if (fork_or_fail() == 0) trace_a_child(&gate);
  gate_wait(&gate, 1);
  return LEAVE;
}
