#include "daemon/foreign.h"

#include <unordered_map>

#include "base/log.h"

namespace corral::daemon {

void mark_foreign(std::vector<run::Process>& rows, const cgroup::Ties& ties) {
  if (!ties.adopts) return;
  std::unordered_map<uint32_t, uint32_t> parents;
  for (const auto& row : rows) parents.emplace(row.pid, row.ppid);
  std::unordered_map<uint32_t, bool> own = {{ties.supervisor.pid, true}};
  const auto leads_home = [&](uint32_t pid) {
    std::vector<uint32_t> way;
    for (auto up = parents.find(pid); up != parents.end() && !own.contains(pid);
         up = parents.find(pid)) {
      way.push_back(pid);
      own.emplace(pid, false);  // links of several moments might make a ring
      pid = up->second;
    }
    const auto end = own.find(pid);
    const bool home = end != own.end() && end->second;
    for (const uint32_t passed : way) own[passed] = home;
    return home;
  };
  std::vector<run::Process*> unclear;
  for (auto& row : rows) {
    if (!leads_home(row.pid)) unclear.push_back(&row);
  }
  if (unclear.empty()) return;
  auto kinship = cgroup::Kinship::open();
  if (!kinship)
    return log(Level::warning, "look for foreign processes: {}", kinship.error().message);
  for (run::Process* row : unclear) {
    if (cgroup::is_foreign(*kinship, ties, static_cast<pid_t>(row->pid)).value_or(false))
      row->rule = "foreign";
  }
}

}  // namespace corral::daemon
