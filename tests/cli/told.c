#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* `told CMD...`: says what a parent is told of CMD, which writes its driver's pid into the file
 * `up`. CMD gets a process group of its own (one that is orphaned is not stopped by SIGTSTP), is
 * stopped and continued, and ends by SIGTERM. A line for each: the status of waitpid(2), and the
 * states of CMD and of the driver. */

static void nap(void) {
  (void)nanosleep(&(struct timespec){0, 10000000}, NULL);
}

static pid_t driver_of(void) {
  for (;; nap()) {
    FILE* file = fopen("up", "re");
    int pid = 0;
    const int count = file != NULL ? fscanf(file, "%d", &pid) : 0;
    if (file != NULL) (void)fclose(file);
    if (count == 1) return pid;
  }
}

static char state_of(pid_t pid) {
  char name[64], state = '?';
  (void)snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
  FILE* file = fopen(name, "re");
  if (file == NULL) return '-';
  (void)fscanf(file, "%*d %*s %c", &state);
  (void)fclose(file);
  return state;
}

/* A stop alone is a state that lasts. */
static void tell(const char* what, pid_t child, pid_t driver) {
  int status = 0;
  if (waitpid(child, &status, WUNTRACED | WCONTINUED) != child) exit(EXIT_FAILURE);
  if (WIFCONTINUED(status))
    while (state_of(driver) == 'T') nap();
  const char* stopped = state_of(child) == 'T' && state_of(driver) == 'T' ? "both stopped" : "";
  printf("%s: %04x %s\n", what, (unsigned)status, stopped);
}

int main(int argc, char** argv) {
  if (argc < 2) return EXIT_FAILURE;
  const pid_t child = fork();
  if (child == 0) {
    (void)setpgid(0, 0);
    (void)execvp(argv[1], argv + 1);
    _exit(EXIT_FAILURE);
  }
  const pid_t driver = driver_of();
  const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
  const char* names[] = {"TSTP", "TTIN", "TTOU"};
  for (int i = 0; i < 3; ++i) {
    (void)kill(child, stops[i]);
    tell(names[i], child, driver);
    (void)kill(child, SIGCONT);
    tell("CONT", child, driver);
  }
  (void)kill(child, SIGTERM);
  tell("TERM", child, driver);
  return EXIT_SUCCESS;
}
