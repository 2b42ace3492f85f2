/* corral-init: what Corral runs with nothing but a C library. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "init/keeper.h"
#include "init/spawner.h"

static const char kUsage[] =
    "corral-init --spawn SOCKET [--ready-fd=N]\n"
    "corral-init --keep [--ready-fd=N]\n"
    "\n"
    "  --spawn SOCKET  fork the supervisors that corrald asks for over this socket,\n"
    "                  or over the one of socket activation\n"
    "  --keep          hold the delegated cgroup open\n"
    "  --ready-fd=N    write a byte to this fd when ready, and close it\n"
    "  --version       print the version\n"
    "  --help          print this\n";

struct options {
  bool keep;
  const char* socket;
  int ready_fd;
};

static void say(int fd, const char* text) {
  (void)!write(fd, text, strlen(text));
}

static bool parse_fd(const char* text, int* fd) {
  char* end = NULL;
  const long number = strtol(text, &end, 10);
  *fd = (int)number;
  return end != text && *end == '\0' && number >= 0 && number < 1 << 20;
}

static bool parse(int argc, char** argv, struct options* options) {
  static const char kReadyFd[] = "--ready-fd=";
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--keep") == 0)
      options->keep = true;
    else if (strcmp(argv[i], "--spawn") == 0 && i + 1 < argc && options->socket == NULL)
      options->socket = argv[++i];
    else if (strncmp(argv[i], kReadyFd, sizeof kReadyFd - 1) != 0 ||
             !parse_fd(argv[i] + sizeof kReadyFd - 1, &options->ready_fd))
      return false;
  }
  return options->keep != (options->socket != NULL);
}

/* Whatever is opened from here on has a number above 2, so that a driver's streams can be put there
 * without one overwriting the other. */
static void take_standard_fds(void) {
  int fd;
  do fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) (void)close(fd);
}

static int spawn(const struct options* options) {
  const int error = spawner_run(options->socket, options->ready_fd);
  if (error == 0) return EX_OK;
  (void)dprintf(STDERR_FILENO, "corral-init: listen on %s: %s\n", options->socket,
                strerror(-error));
  return EX_OSERR;
}

int main(int argc, char** argv) {
  struct options options = {.ready_fd = -1};
  take_standard_fds();
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    say(STDOUT_FILENO, "corral-init " CORRAL_VERSION "\n");
    return EX_OK;
  }
  if (argc == 2 && strcmp(argv[1], "--help") == 0) {
    say(STDOUT_FILENO, kUsage);
    return EX_OK;
  }
  if (!parse(argc, argv, &options)) {
    say(STDERR_FILENO, kUsage);
    return EX_USAGE;
  }
  return options.keep ? keeper_run(options.ready_fd) : spawn(&options);
}
