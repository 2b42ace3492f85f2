#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cgroup/group.h"

namespace corral::cgroup {

// Called for a group of the tree with its path below the top: "" for the top itself, else "a/b".
// The group is open only until it returns. An error ends the walk.
using Enter = std::function<Result<void>(const Group& group, const std::string& path)>;
// Called for each group but the top once all below it is done: the moment for rmdir(2).
using Leave = std::function<Result<void>(const Group& parent, const std::string& name)>;

// Walks the tree from `top` down, a parent before what is below it. Holds a few fds and no
// recursion at any depth: the tree was made by a stranger. Never leaves the tree by a symbolic link
// or a mount. A group that goes meanwhile is passed over. One that cannot be opened (EXDEV:
// something is mounted on it) does not hide the others: the walk goes on and that error is returned
// at the end.
Result<void> each_group(const Group& top, const Enter& enter, const Leave& leave = {});

// The processes of this very group, from cgroup.procs, in the kernel's order. A group that is gone
// has none; a threaded one has none of its own (EOPNOTSUPP: the domain above lists them); processes
// of a pid namespace that we do not see into (the kernel lists them as 0) are left out.
Result<std::vector<pid_t>> pids_of(const Group& group);
// The pure half of it. Fails on a line that is no number.
Result<std::vector<pid_t>> parse_pids(std::string_view text);

}  // namespace corral::cgroup
