#include "init/keeper.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "init/notify.h"

int keeper_run(int ready_fd) {
  sigset_t wanted;
  (void)sigemptyset(&wanted);
  (void)sigaddset(&wanted, SIGTERM);
  (void)sigaddset(&wanted, SIGINT);
  (void)sigprocmask(SIG_BLOCK, &wanted, NULL);
  (void)prctl(PR_SET_NAME, "corral-keeper");
  notify_ready(ready_fd);
  int signal;
  while (sigwait(&wanted, &signal) != 0) continue;
  return 0;
}
