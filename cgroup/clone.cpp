#include "cgroup/clone.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "cgroup/control.h"

namespace corral::cgroup {
namespace {

// noexcept: an exception must not unwind into the parent's frames, of which the child has a copy.
[[noreturn]] void run_child(const std::function<int()>& body) noexcept {
  _exit(body());
}

}  // namespace

#ifdef __SANITIZE_THREAD__
// The sanitizer's runtime has a thread and locks, and knows how to fork(2): after a bare clone3(2)
// the child hangs now and then. It waits to be moved instead.
Result<Pidfd> clone_into(const Group& group, const std::function<int()>& body) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return failed(errno, "make a pipe");
  const UniqueFd wait(ends[0]);
  UniqueFd go(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    go.reset();
    char byte = 0;
    (void)!read(wait.get(), &byte, 1);
    run_child(body);
  }
  if (pid < 0) return failed(errno, fmt::format("clone a process into {}", group.name()));
  auto moved = move_into(group, pid);
  if (moved) return Pidfd::open(pid);
  (void)::kill(pid, SIGKILL);
  (void)waitpid(pid, nullptr, 0);
  return moved.error();
}
#else
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
#endif

}  // namespace corral::cgroup
