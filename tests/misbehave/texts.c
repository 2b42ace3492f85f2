#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "misbehave.h"

enum after bad_name(int argc, char** argv) {
  (void)argc, (void)argv;
  struct gate gate = gate_open();
  if (fork_or_fail() == 0) {
    if (prctl(PR_SET_NAME, "\xff\xfe) R 1\n\\") < 0) fail("prctl PR_SET_NAME");
    gate_pass(&gate);
    doze();
  }
  gate_wait(&gate, 1);
  return LEAVE;
}

/* One string holds at most 128 KiB, all of them a quarter of the stack limit and 6 MiB (execve(2)).
 */
enum { kArgumentBytes = 128 * 1024 - 1, kMostBytes = 5 * 1024 * 1024 };

static char** arguments_of(size_t bytes) {
  const size_t count = (bytes + kArgumentBytes - 1) / kArgumentBytes;
  char** arguments = calloc(count + 1, sizeof *arguments);
  if (!arguments) fail("calloc");
  for (size_t i = 0; i < count; ++i) {
    const size_t size = bytes < kArgumentBytes ? bytes : kArgumentBytes;
    arguments[i] = malloc(size + 1);
    if (!arguments[i]) fail("malloc");
    memset(arguments[i], 'a' + (int)(i % 26), size);
    arguments[i][size] = '\0';
    bytes -= size;
  }
  return arguments;
}

static void raise_stack_limit(void) {
  const rlim_t wanted = (rlim_t)kMostBytes * 5;
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) < 0) fail("getrlimit");
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  if (setrlimit(RLIMIT_STACK, &limit) < 0) fail("setrlimit");
}

enum after big_argv(int argc, char** argv) {
  (void)argc;
  const long count = number(argv[0], 1000);
  char** big = arguments_of((size_t)number(argv[1], kMostBytes));
  raise_stack_limit();
  struct gate gate = gate_open();
  for (long left = count; left > 0; --left)
    if (fork_or_fail() == 0) become_sleeper(&gate, big, environ);
  gate_wait(&gate, count);
  return LEAVE;
}
