#include "init/request.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for one fd more than is due, so that one too many is seen and not cut. */
union control {
  char bytes[CMSG_SPACE(sizeof(int) * (kMaxFds + 1))];
  struct cmsghdr aligned;
};

bool request_peer_allowed(int connection) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == 0 || peer.uid == getuid());
}

/* Takes over every fd of the message; false when there were more than a request has. */
static bool take_fds(struct msghdr* message, struct request* request) {
  bool fits = true;
  for (struct cmsghdr* part = CMSG_FIRSTHDR(message); part != NULL;
       part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      fits = fits && request->count < kMaxFds;
      if (fits)
        request->fds[request->count++] = fd;
      else
        (void)close(fd);
    }
  }
  return fits;
}

static int check(const struct corral_request* head, size_t length, const struct request* request) {
  if (length < sizeof head->protocol) return -EBADMSG;
  if (head->protocol != CORRAL_PROTOCOL) return -EPROTONOSUPPORT;
  if (length != sizeof *head) return -EBADMSG;
  switch (head->kind) {
    case CORRAL_START:
      return request->count < kStartFds ? -EBADMSG : 0;
    case CORRAL_PROBE:
      return request->count != 1 ? -EBADMSG : 0;
    default:
      return -EBADMSG;
  }
}

int request_receive(int connection, struct request* request) {
  struct corral_request head;
  union control control;
  struct iovec data = {.iov_base = &head, .iov_len = sizeof head};
  struct msghdr message = {
      .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  const ssize_t length = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (length < 0) return errno == EINTR ? -EAGAIN : -errno;
  request->count = 0;
  const bool fits = take_fds(&message, request);
  int error = fits ? check(&head, (size_t)length, request) : -EBADMSG;
  if (length == 0) error = -ENOTCONN;
  if ((message.msg_flags & MSG_TRUNC) != 0) error = -EBADMSG;
  /* We had room for all of them; it was the kernel that found no number. */
  if ((message.msg_flags & MSG_CTRUNC) != 0 && fits) error = -EMFILE;
  request->kind = head.kind;
  if (error < 0) request_close(request);
  return error;
}

void request_close(struct request* request) {
  while (request->count > 0) (void)close(request->fds[--request->count]);
}

void request_answer(int connection, struct corral_reply reply, const int* fds, unsigned count) {
  union control control;
  memset(&control, 0, sizeof control);
  reply.protocol = CORRAL_PROTOCOL;
  struct iovec data = {.iov_base = &reply, .iov_len = sizeof reply};
  struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
  if (count > 0) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    control.aligned.cmsg_level = SOL_SOCKET;
    control.aligned.cmsg_type = SCM_RIGHTS;
    control.aligned.cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(&control.aligned), fds, sizeof(int) * count);
  }
  (void)sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
