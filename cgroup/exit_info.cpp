#include "cgroup/exit_info.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/ioctl.h>
#include <sys/ioctl.h>

#include <cstdint>

#include "base/file.h"
#include "cgroup/proc_stat.h"

namespace corral::cgroup {
namespace {

// struct pidfd_info in its first size (64 bytes); the headers of Debian 12 do not have it.
struct PidfdInfo {
  uint64_t mask;
  uint64_t cgroupid;
  uint32_t ids[11];  // pid to fsgid
  int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr uint64_t kInfoExit = 1U << 3;

constexpr size_t kIoBytes = 1024;  // about 100 are usual

// /proc/PID/io wants the right that exit_code wants, and says so where we do not have it.
bool may_ask(pid_t pid) {
  return base::read_at(AT_FDCWD, fmt::format("/proc/{}/io", pid), kIoBytes).has_value();
}

}  // namespace

std::optional<int> exit_info(const Pidfd& process) {
  PidfdInfo info{};
  info.mask = kInfoExit;
  const unsigned long request = _IOWR(0xFFU, 11, PidfdInfo);
  if (ioctl(process.fd(), request, &info) < 0) return std::nullopt;
  if ((info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

std::optional<int> zombie_status(const Pidfd& process) {
  if (!process.exited()) return std::nullopt;
  const auto stat = read_stat(process.pid());
  const bool known = stat && (stat->exit_code != 0 || may_ask(process.pid()));
  // Still there after it was read: then the number was its own all the time.
  if (!known || !process.signal(0)) return std::nullopt;
  return stat->exit_code;
}

}  // namespace corral::cgroup
