#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "daemon/active_run.h"
#include "daemon/foreign.h"
#include "daemon/snapshot.h"

namespace corral::daemon {
namespace {

// An environment costs a read of its own.
constexpr size_t kProcessesPerTurn = 16;

}  // namespace

// A supervisor of ours is a subreaper from before the driver on; whose parent it is, is the run's.
cgroup::Ties ActiveRun::ties() const {
  const auto members = read_members(directory_).value_or(run::Members{});
  const bool ours = !is_opened() && !is_adopted();
  const auto supervisor = static_cast<pid_t>(members.supervisor.pid);
  return {
      .id = record_.id,
      .invocation = record_.invocation,
      .uid = is_opened() ? record_.owner_uid : geteuid(),
      .runs = around_.root.path(),
      .directory = path(),
      .driver = members.driver,
      .supervisor = members.supervisor,
      .adopts = ours && cgroup::Pidfd::open(supervisor, members.supervisor.start_time).has_value(),
      .spared = {getpid()}};
}

std::vector<run::Process> ActiveRun::snapshot_work(const cgroup::Group& work, pid_t except) {
  auto rows = rows_of(snapshot(work, work_path(), lineage_, {except}));
  if (!rows.empty()) mark_foreign(rows, ties());
  return rows;
}

void ActiveRun::nested_ended(const run::Report& report) {
  leaks_.nested_ended(report);
  count_leaks();
  look();  // it may have waited for this one alone
}

// Who left the run: before the supervisor goes, whose children are the orphans of it. What is not
// found, or the failure of it, costs rows and never the end.
void ActiveRun::search_escapes() {
  auto tied = ties();
  const bool had_driver = tied.driver.pid != 0;
  if (!had_driver || record_.kind != run::Kind::driver) return let_go();
  escapes_ = around_.survey.ask(
      [this, ties = std::move(tied),
       search = std::optional<cgroup::EscapeSearch>()](cgroup::Kinship* pass) mutable {
        if (pass != nullptr) {
          if (!search) search.emplace(*pass, std::move(ties), lineage_);
          if (!search->step(kProcessesPerTurn)) return false;
          for (auto& process : search->take()) leaks_.escaped(std::move(process));
          count_leaks();
        }
        let_go();
        return true;
      });
}

}  // namespace corral::daemon
