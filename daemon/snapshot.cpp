#include "daemon/snapshot.h"

#include <algorithm>

#include "run/report.h"

namespace corral::daemon {

Result<std::vector<run::Process>> snapshot(const cgroup::Group& group,
                                           const std::string& group_path,
                                           const cgroup::Lineage& lineage,
                                           std::initializer_list<pid_t> except) {
  auto members = cgroup::members(group);
  if (!members) return members.error();
  std::erase_if(*members, [&](const cgroup::Member& member) {
    return std::ranges::find(except, member.pid) != except.end();
  });
  auto processes = cgroup::look(*members, group_path, lineage);
  std::ranges::sort(processes, run::shown_before);
  const size_t shown = std::min(processes.size(), run::kListedLeaks);
  for (size_t i = 0; i < shown; ++i) cgroup::describe(processes[i]);
  return processes;
}

Result<std::vector<run::Process>> snapshot_stuck(const cgroup::Group& group,
                                                 const std::string& group_path,
                                                 const cgroup::Lineage& lineage) {
  auto processes = snapshot(group, group_path, lineage, {});
  if (!processes) return processes;
  for (auto& process : *processes) cgroup::describe_wait(process);
  return processes;
}

}  // namespace corral::daemon
