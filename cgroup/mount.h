#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cgroup/group.h"

namespace corral::cgroup {

// Where the cgroup2 hierarchy is mounted (proc_pid_mountinfo(5)): the first mount of type cgroup2,
// hybrid layouts included; octal escapes are undone. `root` is the part of the hierarchy that is
// mounted there, "/" for the whole.
struct Mount {
  std::string path;
  std::string root;
};
// With `id`, the mount of that id (statx(2), stx_mnt_id) if it is a cgroup2 one.
std::optional<Mount> parse_mountinfo(std::string_view text,
                                     std::optional<uint64_t> id = std::nullopt);
// Fails with ENODEV and the remedy where there is none.
Result<Mount> find_mount();

// The path below the mount of a process's cgroup (the "0::" line of /proc/PID/cgroup, cgroups(7));
// pid 0 is the caller. A trailing " (deleted)" is left off. ESRCH where the process is gone, ENOENT
// where the kernel shows no v2 line.
Result<std::string> path_of(int pid);
std::optional<std::string> parse_proc_cgroup(std::string_view text);

// The path of a group as path_of() gives it for its processes (both are relative to the caller's
// cgroup namespace). ENOENT where the group is gone, ENODEV where its mount is not ours to see or
// was made outside of that namespace.
Result<std::string> path_of(const Group& group);

}  // namespace corral::cgroup
