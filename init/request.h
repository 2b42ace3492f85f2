/* One connection of protocol.h: what comes in, what goes out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "init/protocol.h"

/* The fds of a start, in their order; up to three streams follow. */
enum { kSpec, kRun, kInit, kWork, kExitFile, kStartFds, kMaxFds = kStartFds + 3 };

struct request {
  uint32_t kind;
  unsigned count;
  int fds[kMaxFds]; /* owned, O_CLOEXEC */
};

/* Whether the peer's uid is our own or root's (unix(7), SO_PEERCRED). */
bool request_peer_allowed(int connection);

/* Takes a request without waiting. 0 when it is whole and well formed, then request_close() it;
 * -EAGAIN when none has come. Otherwise nothing is left to close: -ENOTCONN where the peer went,
 * -EPROTONOSUPPORT where it speaks another protocol, -EMFILE where its fds found no place,
 * -EBADMSG. */
int request_receive(int connection, struct request* request);
void request_close(struct request* request);

/* Sends the reply with `count` fds, which stay the caller's. Does not wait: a peer that went away
 * finds the run by its records. */
void request_answer(int connection, struct corral_reply reply, const int* fds, unsigned count);
