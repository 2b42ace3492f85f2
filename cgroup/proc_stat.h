#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace corral::cgroup {

// What we use of /proc/PID/stat (proc_pid_stat(5)).
struct ProcStat {
  pid_t pid = 0;
  std::string comm;  // raw bytes, may hold spaces, newlines and ')'
  char state = '?';
  pid_t ppid = 0, pgrp = 0, session = 0;
  uint64_t utime = 0, stime = 0;  // clock ticks
  uint64_t start_time = 0;        // clock ticks since boot
  uint64_t rss_pages = 0;
  int exit_code = 0;  // a wait status, of a zombie; 0 where we may not see it
};
// nullopt for anything but a whole line: comm is taken up to the last ')'.
std::optional<ProcStat> parse_stat(std::string_view text);
// nullopt where there is no such process. A thread id will do: its own pid and start time, the
// times of its whole process.
std::optional<ProcStat> read_stat(pid_t pid);

// The thread through which /proc shows a process's files and memory: the group leader, or where
// that has exited, one that lives on. nullopt where none does: it is a zombie, or gone.
std::optional<pid_t> living_thread(const ProcStat& process);

}  // namespace corral::cgroup
