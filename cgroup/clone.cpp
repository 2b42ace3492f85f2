#include "cgroup/clone.h"

#include <fmt/format.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace corral::cgroup {
namespace {

// noexcept: an exception must not unwind into the parent's frames, of which the child has a copy.
[[noreturn]] void run_child(const std::function<int()>& body) noexcept {
  _exit(body());
}

}  // namespace

Result<Pidfd> clone_into(const Group& group, const std::function<int()>& body) {
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_INTO_CGROUP | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<uintptr_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<unsigned>(group.fd());
  // No wrapper exists; with no stack of its own the child goes on here, as after fork(2).
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) run_child(body);
  if (pid < 0) return failed(errno, fmt::format("clone a process into {}", group.name()));
  return Pidfd::adopt(UniqueFd(pidfd), static_cast<pid_t>(pid));
}

}  // namespace corral::cgroup
