/* The spawner's socket. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct listener {
  int fd;           /* SOCK_SEQPACKET, listening, non-blocking, O_CLOEXEC */
  const char* path; /* absolute or as the working directory had it */
  bool made;        /* by us, not inherited */
  dev_t device;     /* of the socket's file, so that a successor's is not unlinked */
  ino_t inode;
};

/* Takes the socket that was passed by socket activation (sd_listen_fds(3): LISTEN_PID, LISTEN_FDS)
 * or makes one at `path`, mode 0600. A file that is there already is replaced only if it is a
 * socket on which nobody listens. 0 or -errno. */
int listener_open(struct listener* listener, const char* path);
/* Closes it, and unlinks the file that it made. */
void listener_close(struct listener* listener);
