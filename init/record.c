#include "init/record.h"

#include <errno.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "init/sys.h"
#include "init/text.h"

static int add_process(struct text* text, const char* key, pid_t pid) {
  const uint64_t start = sys_start_time(pid);
  if (start == 0) return -ESRCH;
  text_add(text, key);
  text_add(text, ":{\"pid\":");
  text_number(text, (uint64_t)pid);
  text_add(text, ",\"start\":");
  text_number(text, start);
  text_add(text, "}");
  return 0;
}

int record_members(int run, pid_t driver) {
  struct text json = {.length = 0};
  text_add(&json, "{");
  int error = add_process(&json, "\"driver\"", driver);
  text_add(&json, ",");
  if (error == 0) error = add_process(&json, "\"supervisor\"", getpid());
  text_add(&json, "}");
  if (error < 0) return error;
  return fsetxattr(run, "user.corral.driver", json.bytes, json.length, 0) < 0 ? -errno : 0;
}

static const char* exit_word(int code) {
  switch (code) {
    case CLD_DUMPED:
      return "dumped";
    case CLD_KILLED:
      return "killed";
    default:
      return "exited";
  }
}

static void add_clock(struct text* text, const char* key, clockid_t clock) {
  struct timespec now;
  (void)clock_gettime(clock, &now);
  text_add(text, key);
  text_number(text, (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
}

void record_exit(int run, int file, const siginfo_t* exit) {
  struct text json = {.length = 0};
  text_add(&json, "{\"exit\":\"");
  text_add(&json, exit_word(exit->si_code));
  text_add(&json, "\",\"status\":");
  text_number(&json, (uint64_t)(unsigned)exit->si_status);
  add_clock(&json, ",\"realtime\":", CLOCK_REALTIME);
  add_clock(&json, ",\"monotonic\":", CLOCK_MONOTONIC);
  text_add(&json, "}");
  (void)fsetxattr(run, "user.corral.exit", json.bytes, json.length, 0);
  text_add(&json, "\n");
  (void)!write(file, json.bytes, json.length);
}
