#pragma once

#include <functional>

#include "base/result.h"
#include "cgroup/group.h"
#include "cgroup/pidfd.h"

namespace corral::cgroup {

// clone3(2) with CLONE_INTO_CGROUP (Linux 5.7) and CLONE_PIDFD: a child that is born in `group` and
// calls `body`, whose return value is its exit status. The child is the caller's to reap. It shares
// no memory, so only async-signal-safe work is safe in a threaded caller. For tools, tests and
// attached drivers: the service itself has no children.
Result<Pidfd> clone_into(const Group& group, const std::function<int()>& body);

}  // namespace corral::cgroup
