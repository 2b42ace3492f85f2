#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "misbehave.h"

enum { kFuseMinor = 229 }; /* of /dev/fuse: 10, 229 */

/* Close-on-exec, and nobody is forked: with this process the connection goes, and the kernel lets
 * go of those who wait for an answer. */
static int open_device(const char* beside) {
  int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fd >= 0 || errno != ENOENT) return fd;
  /* A container may have the driver without its node. */
  char path[4096];
  (void)snprintf(path, sizeof path, "%s.device", beside);
  if (mknod(path, S_IFCHR | 0600, makedev(10, kFuseMinor)) < 0)
    fail("no /dev/fuse here, and mknod");
  fd = open(path, O_RDWR | O_CLOEXEC);
  const int error = errno;
  (void)unlink(path);
  errno = error;
  return fd;
}

/* The next request, of which the kernel hands out the whole. */
static void read_request(int device, char* request, size_t size) {
  for (;;) {
    if (read(device, request, size) > 0) return;
    /* ENOENT: who asked was killed before we read it */
    if (errno != EINTR && errno != ENOENT) fail("read /dev/fuse");
  }
}

static void answer_init(int device, const struct fuse_in_header* request) {
  const struct {
    struct fuse_out_header header;
    struct fuse_init_out init;
  } answer = {
      .header = {.len = sizeof answer, .unique = request->unique},
      .init = {
          .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096}};
  if (request->opcode != FUSE_INIT) errno = EPROTO, fail("FUSE_INIT");
  if (write(device, &answer, sizeof answer) < 0) fail("answer FUSE_INIT");
}

/* A request that was read holds its caller against SIGKILL until it is answered or the connection
 * goes. Each look-up is told as "asked NAME". The mount is in a namespace of this process alone:
 * others get there by /proc/PID/root. */
enum after hung_mount(int argc, char** argv) {
  (void)argc;
  static union {
    struct fuse_in_header header;
    char bytes[FUSE_MIN_READ_BUFFER + 4096];
  } request;
  char options[128];
  const int device = open_device(argv[0]);
  if (device < 0) fail("open /dev/fuse");
  if (unshare(CLONE_NEWNS) < 0) fail("unshare");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) fail("make / private");
  (void)snprintf(options, sizeof options, "fd=%d,rootmode=40755,user_id=%u,group_id=%u", device,
                 (unsigned)getuid(), (unsigned)getgid());
  if (mount("misbehave", argv[0], "fuse", MS_NOSUID | MS_NODEV, options) < 0) fail("mount fuse");
  read_request(device, request.bytes, sizeof request);
  answer_init(device, &request.header);
  alarm(kLifetime);
  say_ready();
  for (;;) {
    read_request(device, request.bytes, sizeof request);
    if (request.header.opcode == FUSE_LOOKUP)
      (void)dprintf(STDOUT_FILENO, "asked %s\n", request.bytes + sizeof request.header);
  }
}
