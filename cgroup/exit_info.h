#pragma once

#include <optional>

#include "cgroup/pidfd.h"

namespace corral::cgroup {

// The wait status (wait(2)) of a process that was reaped by someone else while we held its pidfd:
// ioctl PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15. nullopt on older kernels and while it is
// not reaped; those that know it say EPOLLHUP on the pidfd when it is.
std::optional<int> exit_info(const Pidfd& process);

}  // namespace corral::cgroup
