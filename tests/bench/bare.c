#include "bare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kArguments = 4 };

/* bench_bare DIRECTORY DRIVER MISBEHAVE FD: for each line from the socket FD, "start" or "end
 * COUNT", one sample in the cgroup DIRECTORY, answered with "NANOSECONDS PROCESSES". */
int main(int argc, char** argv) {
  if (argc != kArguments + 1 || chdir(argv[1]) < 0)
    bare_fail("usage: bench_bare DIRECTORY DRIVER MISBEHAVE FD");
  const int socket = atoi(argv[4]);
  FILE* requests = fdopen(dup(socket), "re");
  if (requests == NULL) bare_fail("open the socket");
  /* What a killed tree leaves is reaped here, outside the timed part. */
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) bare_fail("prctl");
  char line[64];
  while (fgets(line, sizeof line, requests) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    uint64_t seen = 1;
    const uint64_t took = strcmp(line, "start") == 0
                              ? bare_start(argv[2])
                              : bare_end(argv[3], line + strlen("end "), &seen);
    if (dprintf(socket, "%" PRIu64 " %" PRIu64 "\n", took, seen) < 0) bare_fail("answer");
  }
  return 0;
}
