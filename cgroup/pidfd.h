#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace corral::cgroup {

// A process, held so that its number cannot come to mean another (pidfd_open(2)).
class Pidfd {
 public:
  // ESRCH where no such process is (or it was reaped).
  static Result<Pidfd> open(pid_t pid);
  // As open(), and fails with ESRCH unless the process started at `start_time` (clock ticks since
  // boot): for a pid out of a record.
  static Result<Pidfd> open(pid_t pid, uint64_t start_time);
  // Takes a pidfd that came from clone3(2) or over a socket; the pid is only for printing.
  static Pidfd adopt(UniqueFd fd, pid_t pid);

  int fd() const { return fd_.get(); }
  pid_t pid() const { return pid_; }
  // pidfd_send_signal(2). ESRCH where it is gone. A process whose group leader exited but lives on
  // in other threads gets it too.
  Result<void> signal(int number) const;
  // Whether the whole thread group has exited (poll(2) says readable), a zombie included. Does not
  // block.
  bool exited() const;

 private:
  Pidfd(UniqueFd fd, pid_t pid) : fd_(std::move(fd)), pid_(pid) {}
  UniqueFd fd_;
  pid_t pid_ = 0;
};

// When a process started, in clock ticks since boot (proc_pid_stat(5), field 22). nullopt where
// there is no such process.
std::optional<uint64_t> start_time(pid_t pid);

}  // namespace corral::cgroup
