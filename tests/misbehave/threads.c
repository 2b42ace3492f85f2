#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "misbehave.h"

/* Whether the kernel shows the group leader as the zombie that it becomes a moment after its thread
 * can be joined. */
static int leader_is_dead(void) {
  char path[64], text[512];
  (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path);
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n < 0) fail(path);
  text[n] = '\0';
  const char* comm_end = strrchr(text, ')');
  return comm_end && strncmp(comm_end, ") Z ", 4) == 0;
}

static void* outlive(void* leader) {
  if ((errno = pthread_join(*(pthread_t*)leader, NULL)) != 0) fail("pthread_join");
  while (!leader_is_dead()) sched_yield();
  say_ready();
  doze();
}

enum after dead_leader(int argc, char** argv) {
  (void)argc, (void)argv;
  static pthread_t leader; /* the stack it could lie on goes with the leader */
  pthread_t other;
  leader = pthread_self();
  if ((errno = pthread_create(&other, NULL, outlive, &leader)) != 0) fail("pthread_create");
  pthread_exit(NULL);
}
