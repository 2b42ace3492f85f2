#include "cgroup/pidfd.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "cgroup/proc_stat.h"

namespace corral::cgroup {

Result<Pidfd> Pidfd::open(pid_t pid) {
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));  // close-on-exec by itself
  if (fd) return Pidfd(std::move(fd), pid);
  // A number that belongs to a thread is no process (ENOENT, before Linux 6.15 EINVAL).
  const bool thread = pid > 0 && (errno == EINVAL || errno == ENOENT);
  return failed(thread ? ESRCH : errno, fmt::format("open process {}", pid));
}

Result<Pidfd> Pidfd::open(pid_t pid, uint64_t start_time) {
  auto process = open(pid);
  if (!process) return process;
  // In this order: the pidfd pins the process, so what /proc says afterwards is about it or about
  // a later one, whose start time differs.
  if (cgroup::start_time(pid) == start_time) return process;
  return failed(ESRCH, fmt::format("open process {} that started at {}", pid, start_time));
}

Pidfd Pidfd::adopt(UniqueFd fd, pid_t pid) {
  return Pidfd(std::move(fd), pid);
}

Result<void> Pidfd::signal(int number) const {
  if (syscall(SYS_pidfd_send_signal, fd_.get(), number, nullptr, 0) == 0) return {};
  return failed(errno, fmt::format("send signal {} to process {}", number, pid_));
}

bool Pidfd::exited() const {
  pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do ready = poll(&wait, 1, 0);
  while (ready < 0 && errno == EINTR);
  return ready == 1 && (wait.revents & POLLIN) != 0;
}

std::optional<uint64_t> start_time(pid_t pid) {
  const auto stat = read_stat(pid);
  if (!stat) return std::nullopt;
  return stat->start_time;
}

}  // namespace corral::cgroup
