#include "init/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { kInheritedFd = 3, kBacklog = 128 };

static bool is_set_to(const char* name, long value) {
  const char* text = getenv(name);
  char* end = NULL;
  return text != NULL && strtol(text, &end, 10) == value && end != text && *end == '\0';
}

static int option_of(int fd, int option) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, option, &value, &length) < 0 ? -1 : value;
}

static int inherit(struct listener* listener) {
  if (option_of(kInheritedFd, SO_TYPE) != SOCK_SEQPACKET ||
      option_of(kInheritedFd, SO_ACCEPTCONN) != 1)
    return -EPROTOTYPE;
  const int status = fcntl(kInheritedFd, F_GETFL);
  if (fcntl(kInheritedFd, F_SETFD, FD_CLOEXEC) < 0 ||
      fcntl(kInheritedFd, F_SETFL, status | O_NONBLOCK) < 0)
    return -errno;
  listener->fd = kInheritedFd;
  return 0;
}

static bool is_stale(const struct sockaddr_un* address) {
  struct stat file;
  if (lstat(address->sun_path, &file) < 0 || !S_ISSOCK(file.st_mode)) return false;
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool refused =
      connect(fd, (const struct sockaddr*)address, sizeof *address) < 0 && errno == ECONNREFUSED;
  (void)close(fd);
  return refused;
}

static int bind_at(int fd, const struct sockaddr_un* address) {
  const mode_t before =
      umask(0177); /* never open to others, not even for the moment before a chmod */
  int result = bind(fd, (const struct sockaddr*)address, sizeof *address);
  if (result < 0 && errno == EADDRINUSE && is_stale(address) && unlink(address->sun_path) == 0)
    result = bind(fd, (const struct sockaddr*)address, sizeof *address);
  const int error = result < 0 ? (errno == 0 ? EADDRINUSE : errno) : 0;
  (void)umask(before);
  return -error;
}

static int make(struct listener* listener) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(listener->path) >= sizeof address.sun_path) return -ENAMETOOLONG;
  memcpy(address.sun_path, listener->path, strlen(listener->path));
  listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener->fd < 0) return -errno;
  int error = bind_at(listener->fd, &address);
  struct stat file;
  if (error == 0 && (listen(listener->fd, kBacklog) < 0 || lstat(listener->path, &file) < 0))
    error = -errno;
  if (error < 0) {
    (void)close(listener->fd);
    return error;
  }
  listener->made = true;
  listener->device = file.st_dev;
  listener->inode = file.st_ino;
  return 0;
}

int listener_open(struct listener* listener, const char* path) {
  *listener = (struct listener){.fd = -1, .path = path};
  return is_set_to("LISTEN_PID", getpid()) && is_set_to("LISTEN_FDS", 1) ? inherit(listener)
                                                                         : make(listener);
}

void listener_close(struct listener* listener) {
  struct stat file;
  if (listener->made && lstat(listener->path, &file) == 0 && file.st_dev == listener->device &&
      file.st_ino == listener->inode)
    (void)unlink(listener->path);
  (void)close(listener->fd);
}
