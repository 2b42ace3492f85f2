#include "init/spec.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { kFixedStrings = 4 }; /* the working directory and three paths */
static const uint64_t kMaxBytes = 64u << 20;

static int check_header(int fd, struct corral_spec* header) {
  struct stat file;
  if (fstat(fd, &file) < 0) return -errno;
  if (!S_ISREG(file.st_mode)) return -EBADMSG;
  const ssize_t length = pread(fd, header, sizeof *header, 0);
  if (length < 0) return -errno;
  if (length != (ssize_t)sizeof *header) return -EBADMSG;
  if (header->protocol != CORRAL_PROTOCOL) return -EPROTONOSUPPORT;
  if (header->bytes > kMaxBytes) return -EFBIG;
  if ((uint64_t)file.st_size != sizeof *header + header->bytes) return -EBADMSG;
  for (int i = 0; i < 3; ++i)
    if (header->stream[i] > CORRAL_STREAM_FD) return -EBADMSG;
  /* Every string has its NUL, so that the pointers are bounded by the bytes. */
  const uint64_t strings = (uint64_t)kFixedStrings + header->argc + header->envc;
  return header->argc < 1 || strings > header->bytes ? -EBADMSG : 0;
}

static int read_whole(int fd, char* buffer, size_t size, off_t from) {
  for (size_t at = 0; at < size;) {
    const ssize_t length = pread(fd, buffer + at, size - at, from + (off_t)at);
    if (length < 0) return -errno;
    if (length == 0) return -EBADMSG;
    at += (size_t)length;
  }
  return 0;
}

struct cursor {
  char *at, *end;
};

/* The next string, or NULL past the last one. */
static char* take(struct cursor* cursor) {
  char* string = cursor->at;
  char* nul = memchr(string, '\0', (size_t)(cursor->end - string));
  if (nul == NULL) return NULL;
  cursor->at = nul + 1;
  return string;
}

static int take_all(struct cursor* cursor, char** strings, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    strings[i] = take(cursor);
    if (strings[i] == NULL) return -EBADMSG;
  }
  strings[count] = NULL;
  return 0;
}

static int take_apart(struct cursor cursor, const struct corral_spec* header, struct spec* spec) {
  char* fixed[kFixedStrings + 1];
  if (take_all(&cursor, fixed, kFixedStrings) < 0 ||
      take_all(&cursor, spec->argv, header->argc) < 0 ||
      take_all(&cursor, spec->envp, header->envc) < 0 || cursor.at != cursor.end)
    return -EBADMSG;
  spec->directory = fixed[0];
  for (int i = 0; i < 3; ++i) {
    spec->stream[i] = header->stream[i];
    spec->path[i] = fixed[i + 1];
  }
  return 0;
}

int spec_read(int fd, struct spec* spec) {
  struct corral_spec header;
  int error = check_header(fd, &header);
  if (error < 0) return error;
  const size_t pointers = ((size_t)header.argc + header.envc + 2) * sizeof(char*);
  spec->size = pointers + header.bytes;
  spec->memory = mmap(NULL, spec->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (spec->memory == MAP_FAILED) return -errno;
  spec->argv = spec->memory;
  spec->envp = spec->argv + header.argc + 1;
  char* strings = (char*)spec->memory + pointers;
  error = read_whole(fd, strings, header.bytes, sizeof header);
  if (error == 0)
    error =
        take_apart((struct cursor){.at = strings, .end = strings + header.bytes}, &header, spec);
  if (error < 0) spec_free(spec);
  return error;
}

void spec_free(struct spec* spec) {
  if (spec->memory != NULL) (void)munmap(spec->memory, spec->size);
  *spec = (struct spec){.memory = NULL};
}

unsigned spec_fds(const struct spec* spec) {
  unsigned count = 0;
  for (int i = 0; i < 3; ++i) count += spec->stream[i] == CORRAL_STREAM_FD;
  return count;
}
