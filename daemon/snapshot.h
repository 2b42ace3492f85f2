#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/group.h"
#include "cgroup/processes.h"
#include "run/process.h"

namespace corral::daemon {

// The processes of the group and below as a report shows them, without those of `except`: identity,
// memory and listening sockets of all, command lines of the run::kListedLeaks that a report would
// list. What cannot be read of one costs its row; an error means
// that the group could not be walked.
Result<std::vector<run::Process>> snapshot(const cgroup::Group& group,
                                           const std::string& group_path,
                                           const cgroup::Lineage& lineage,
                                           std::initializer_list<pid_t> except);

// As snapshot() for processes that were killed and are still there: with state and wait channel.
Result<std::vector<run::Process>> snapshot_stuck(const cgroup::Group& group,
                                                 const std::string& group_path,
                                                 const cgroup::Lineage& lineage);

}  // namespace corral::daemon
