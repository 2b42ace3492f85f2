/* The spec of a start, as protocol.h lays it out, checked and taken apart. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "init/protocol.h"

struct spec {
  uint32_t stream[3]; /* enum corral_stream */
  const char *directory, *path[3];
  char **argv, **envp; /* NULL-terminated */
  void* memory;        /* holds all of the above */
  size_t size;
};

/* Copies the file into memory of our own, so that nobody can change it after it was checked, and
 * that goes back to the kernel whole. 0, or -errno with nothing to free: EBADMSG where it is no
 * spec, EPROTONOSUPPORT where it is one of another protocol, EFBIG past a bound far above ARG_MAX
 * (so that exec itself says E2BIG), or what pread(2) and mmap(2) say. */
int spec_read(int fd, struct spec* spec);
/* A second call does nothing. */
void spec_free(struct spec* spec);

/* How many streams are fds that come with the request. */
unsigned spec_fds(const struct spec* spec);
