#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/group.h"
#include "run/process.h"

namespace corral::cgroup {

// A member of a cgroup or of one below it. `group` is the path below the group that was asked, ""
// for itself.
struct Member {
  pid_t pid = 0;
  std::string group;
};

// Every process of the group and below it, at whatever depth, sorted by pid, each once. Threaded
// cgroups answer EOPNOTSUPP to cgroup.procs (their processes are listed by the domain above them):
// passed over. Not atomic unless frozen. A group that is gone has none. Zombies are not members; a
// process whose group leader exited but which lives on in other threads is.
Result<std::vector<Member>> members(const Group& group);
// How many members() would find.
Result<uint64_t> count(const Group& group);

// What a run was started with, to judge by it how its processes detached themselves. Of what is
// unknown nothing is said: where all is, everything is `no`. A session or process group of 0 is
// known: one whose leader is outside of this PID namespace (pid_namespaces(7)).
struct Lineage {
  std::optional<pid_t> driver = {};
  std::optional<pid_t> driver_sid = {};  // those that the driver was started with
  std::optional<pid_t> driver_pgid = {};
  std::optional<pid_t> supervisor = {};
};

// The cheap half of a look at processes (/proc/PID/stat, /proc/PID/fd): identity, parentage,
// memory, times, listening sockets. One that went meanwhile is left out, so the result may be
// shorter. `control_group` of each is `group_path` joined with the member's group. Orphaned is what
// the supervisor or pid 1 is the parent of, the driver excepted.
std::vector<run::Process> look(std::span<const Member> members, const std::string& group_path,
                               const Lineage& lineage);

inline constexpr size_t kArgvCount = 512;

// The dear half, for those that are shown: exe, argv, the effective uid. Exe and argv are escaped,
// then each is cut at run::kArgvBytes; argv at kArgvCount strings too. Reads no more of a command
// line than that. Does nothing to one that went or whose number now names another (its start time
// is checked before and after).
void describe(run::Process& process);

// Reads state and wchan of a process that does not die, of a thread that lives on where its group
// leader has exited. Leaves them as they are where it went.
void describe_wait(run::Process& process);

}  // namespace corral::cgroup
