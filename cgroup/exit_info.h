#pragma once

#include <optional>

#include "cgroup/pidfd.h"

namespace corral::cgroup {

// The wait status (wait(2)) of a process that was reaped by someone else while we held its pidfd:
// ioctl PIDFD_GET_INFO with PIDFD_INFO_EXIT, Linux 6.15. nullopt on older kernels and while it is
// not reaped; those that know it say EPOLLHUP on the pidfd when it is.
std::optional<int> exit_info(const Pidfd& process);

// The wait status of a process that has exited and waits to be reaped: exit_code of
// /proc/PID/stat (proc_pid_stat(5), field 52). nullopt where it lives or was reaped, and where we
// may not ask (ptrace(2), PTRACE_MODE_READ): the kernel shows 0 then.
std::optional<int> zombie_status(const Pidfd& process);

}  // namespace corral::cgroup
