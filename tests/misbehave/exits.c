#include <signal.h>
#include <unistd.h>

#include "misbehave.h"

enum after exit_with(int argc, char** argv) {
  (void)argc;
  const int status = (int)number(argv[0], 255);
  say_ready();
  _exit(status);
}

/* The core limit is as it was: a signal that dumps core does so where the caller allows it. */
enum after die_of(int argc, char** argv) {
  (void)argc;
  const int signal_number = (int)number(argv[0], 64);
  sigset_t all;
  say_ready();
  (void)signal(signal_number, SIG_DFL); /* fails for SIGKILL, which needs it not */
  (void)sigfillset(&all);
  (void)sigprocmask(SIG_UNBLOCK, &all, NULL);
  (void)raise(signal_number);
  fail("the signal did not kill");
}

enum after exec_other(int argc, char** argv) {
  (void)argc, (void)argv;
  become_ready_sleeper();
}
