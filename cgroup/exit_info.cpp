#include "cgroup/exit_info.h"

#include <linux/ioctl.h>
#include <sys/ioctl.h>

#include <cstdint>

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

}  // namespace

std::optional<int> exit_info(const Pidfd& process) {
  PidfdInfo info{};
  info.mask = kInfoExit;
  const unsigned long request = _IOWR(0xFFU, 11, PidfdInfo);
  if (ioctl(process.fd(), request, &info) < 0) return std::nullopt;
  if ((info.mask & kInfoExit) == 0) return std::nullopt;
  return info.exit_code;
}

}  // namespace corral::cgroup
