#include "init/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void notify_manager(const char* path) {
  static const char kReady[] = "READY=1";
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t length = strlen(path);
  if (length < 2 || length >= sizeof address.sun_path) return;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0'; /* the abstract namespace */
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)sendto(fd, kReady, sizeof kReady - 1, MSG_NOSIGNAL, (const struct sockaddr*)&address,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
  (void)close(fd);
}

void notify_ready(int fd) {
  const char* path = getenv("NOTIFY_SOCKET");
  if (path != NULL) notify_manager(path);
  if (fd < 0) return;
  (void)!write(fd, "\n", 1);
  (void)close(fd);
}
