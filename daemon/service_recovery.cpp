#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/log.h"
#include "cgroup/record.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

Result<run::Record> read_record(const cgroup::Group& group) {
  auto text = cgroup::read_record(group, run::kRecordXattr);
  if (!text) return text.error();
  if (!*text) return Error{"it has no record", 0};
  return run::parse_record(**text);
}

// Whether the record speaks of this very directory.
Result<void> check_identity(const run::Record& record, const cgroup::Group& group,
                            const std::string& boot_id) {
  if (group.owner() != geteuid())
    return Error{fmt::format("it belongs to uid {}", group.owner()), 0};
  if (record.cgroup_id != 0 && record.cgroup_id != group.id())
    return Error{"its record is of another directory", 0};
  if (record.boot_id != boot_id) return Error{"its record is of another boot", 0};
  const std::string& place = group.name();
  if (run::directory_name(record.id, record.invocation) != place.substr(place.rfind('/') + 1))
    return Error{"its record is of another run", 0};
  return {};
}

run::Status lost_run(const run::Record& record, run::EndReason reason) {
  run::Status status = initial_status(record);
  auto& report = status.report;
  report.state = run::State::ended;
  report.end = base::Moment::now();
  report.end_reason = reason;
  return status;
}

}  // namespace

void Service::recover() {
  recover_reports();
  if (root_) {
    auto names = root_->runs().children();
    if (!names) log(Level::error, "look for runs: {}", names.error().message);
    for (const auto& name : names.value_or(std::vector<std::string>{}))
      recover_directory(name, nullptr);
  }
  recover_stubs();
  drop_overdue();
}

// A run, and those nested in it after it.
void Service::recover_directory(const std::string& place, const Entry* parent) {
  auto group = cgroup::Group::open(root_->runs().fd(), place);
  if (!group) return;
  auto record = read_record(*group);
  auto checked = record ? check_identity(*record, *group, boot_id_) : Result<void>(record.error());
  if (!checked) return leave_alone(*group, checked.error());
  if (registry_.of(record->invocation) != nullptr) {
    // Its report is stored: it had ended, and only the directory was still to go.
    janitor_.remove(root_->runs().fd(), place, group->id());
    return;
  }
  auto made = std::make_unique<Entry>(loop_, record->id, record->invocation);
  record->cgroup_id = group->id();
  made->status = initial_status(*record);
  if (parent != nullptr) made->status.parent = run::DirectoryName{parent->id, parent->invocation};
  made->run = ActiveRun::recover(surroundings(), *this, std::move(*record), place, made->status);
  const Entry& entry = registry_.add(std::move(made));
  for (const auto& nested : root_->nested_in(place)) recover_directory(nested, &entry);
}

// Whatever lives in it is nobody's of ours. Only what is empty goes: a start that was cut off
// before its record. A prober of the service before us leaves its directory in a moment.
void Service::leave_alone(const cgroup::Group& group, const Error& why) {
  const int runs = root_->runs().fd();
  const bool ours = group.owner() == geteuid();
  if (ours && group.name().starts_with(kProbePrefix))
    return janitor_.remove(runs, group.name(), group.id());
  if (ours && cgroup::remove_tree(runs, group.name(), group.id()) != cgroup::Removed::busy) return;
  log(Level::warning, "directory {} is not claimed and left alone: {}", group.name(), why.message);
}

// A stub whose directory is gone: its boot is over, or someone removed it.
void Service::recover_stubs() {
  for (const auto& stub : store_.read_stubs()) {
    if (const Entry* known = registry_.of(stub.invocation)) {
      if (known->ended()) store_.drop_live(stub.invocation);
      continue;
    }
    auto entry = std::make_unique<Entry>(loop_, stub.id, stub.invocation);
    entry->status =
        lost_run(stub, stub.boot_id == boot_id_ ? run::EndReason::lost : run::EndReason::reboot);
    auto& report = entry->status.report;
    if (const auto exit = store_.read_exit(stub.invocation)) {
      report.driver_exit = exit->exit;
      report.driver_status = exit->status;
      report.driver_exited = exit->when;
      report.result = run::result_of(exit->exit, exit->status, false);
    } else {
      report.driver_exit = run::DriverExit::unknown;
      report.unknown_reason = "the run's directory was gone when the service started";
      report.result = run::RunResult::unknown;
    }
    conclude(registry_.add(std::move(entry)));
  }
}

void Service::recover_reports() {
  auto reports = store_.read_reports();
  std::ranges::sort(reports, {},
                    [](const run::Status& status) { return status.report.end.realtime_usec; });
  for (auto& status : reports) {
    const auto id = run::RunId::parse(status.report.id);
    const auto invocation = run::Invocation::parse(status.report.invocation);
    if (!id || !invocation || registry_.of(*invocation) != nullptr) continue;
    auto entry = std::make_unique<Entry>(loop_, *id, *invocation);
    entry->status = std::move(status);
    registry_.retire(registry_.add(std::move(entry)));
  }
}

}  // namespace corral::daemon
