#include <fmt/format.h>

#include <exception>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "cgroup/control.h"
#include "cgroup/mount.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

constexpr size_t kSuffixDigits = 8;

// The kept run's own id: of the run that it comes from, and of this invocation.
run::RunId kept_id(const run::RunId& from, const run::Invocation& invocation) {
  const std::string suffix = ".kept-" + invocation.text().substr(0, kSuffixDigits);
  const auto room = run::RunId::kMostBytes - suffix.size();
  return *run::RunId::parse(from.text().substr(0, room) + suffix);
}

// Through a pidfd, so that no other gets there under its number, and only from where it was seen.
bool move(const run::Process& process, const cgroup::Group& work) {
  const auto pid = static_cast<pid_t>(process.pid);
  auto held = cgroup::Pidfd::open(pid, process.start_time);
  if (!held || cgroup::path_of(pid) != process.control_group) return false;
  return cgroup::move_into(work, pid) && !held->exited();
}

}  // namespace

Result<RunObserver::Kept> Service::keep(const ActiveRun& run, std::vector<run::Process> processes,
                                        const std::string& rule) try {
  run::Record record = run.record();
  record.invocation = *run::Invocation::parse(base::random_hex());
  record.id = kept_id(run.record().id, record.invocation);
  record.token.clear();
  record.description = fmt::format("kept from run {} by {}", run.record().id.text(), rule);
  record.description.resize(std::min(record.description.size(), run::kDescriptionBytes));
  record.policy = {.settle = record.policy.settle,
                   .grace = record.policy.grace,
                   .enforcement = record.policy.enforcement};
  record.containment = run::Containment::adopted;
  record.start = base::Moment::now();
  record.opener = {};
  record.kind = run::Kind::kept;
  record.spared_from = run::DirectoryName{run.record().id, run.record().invocation};
  const std::string place = run::directory_name(record.id, record.invocation);

  auto made = std::make_unique<Entry>(loop_, record.id, record.invocation);
  made->status = initial_status(record);
  if (enforcement_ == run::Enforcement::observe)
    made->status.report.enforcement = run::Enforcement::observe;
  Entry& entry = registry_.add(std::move(made));
  auto whole = prepare(entry, record, place);
  auto work =
      whole ? cgroup::Group::create(whole->fd(), "work") : Result<cgroup::Group>(whole.error());
  if (!work) return forget(entry, place, work.error());
  std::erase_if(processes, [&](const run::Process& process) { return !move(process, *work); });
  if (processes.empty())
    return forget(entry, place, Error{"none of its processes could be moved", 0});
  entry.run =
      std::make_unique<ActiveRun>(surroundings(), *this, std::move(record), place, entry.status);
  entry.run->take_over({});
  if (server_ != nullptr) {
    server_->publish(entry.status);
    server_->manager_changed({"Runs"});
  }
  return Kept{{entry.id, entry.invocation}, std::move(processes)};
} catch (const std::exception& error) {
  return Error{error.what(), 0};
}

// Nothing was moved: nobody needs to hear of it.
Error Service::forget(Entry& entry, const std::string& place, Error why) {
  if (entry.status.control_group_id != 0)
    janitor_.remove(root_->runs().fd(), place, entry.status.control_group_id);
  store_.drop_live(entry.invocation);
  registry_.erase(run::Invocation(entry.invocation));
  return why;
}

run::Answer<dbus::RunName> Service::release(const dbus::Caller& caller, const run::Invocation& run,
                                            std::vector<uint32_t> pids) {
  Entry* known = registry_.of(run);
  if (known == nullptr || !known->run)
    return run::fault(run::FaultKind::run_busy, "release: the run has ended");
  if (auto refused = refuse(caller, *known, dbus::Act::signal))
    return tl::unexpected(std::move(*refused));
  auto name = known->run->release(pids);
  if (!name) return tl::unexpected(std::move(name.error()));
  return dbus::RunName{name->id, name->invocation};
}

std::vector<run::Process> Service::spared_by(const ActiveRun& run) {
  std::vector<run::Process> rows;
  for (const Entry* entry : registry_.all()) {
    if (!entry->run || entry->run->record().kind != run::Kind::driver) continue;
    const auto& from = entry->run->record().spared_from;
    if (!from || from->invocation != run.record().invocation) continue;
    for (auto& process : entry->run->processes()) {
      if (process.pid != entry->status.driver_pid) continue;
      cgroup::describe(process);
      process.run = entry->id.text();
      process.invocation = entry->invocation.text();
      rows.push_back(std::move(process));
    }
  }
  return rows;
}

}  // namespace corral::daemon
