#include "daemon/service.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "daemon/adopting.h"
#include "daemon/version.h"

namespace corral::daemon {

Service::Service(Loop& loop, const Settings& settings, Store store,
                 std::unique_ptr<Watcher> watcher, std::string boot_id)
    : loop_(loop),
      settings_(settings),
      config_(settings_.configuration.values()),
      boot_id_(std::move(boot_id)),
      store_(std::move(store)),
      watcher_(std::move(watcher)),
      janitor_(config_.remove),
      spawner_(loop, config_.spawner_socket, config_.spawn),
      survey_(loop) {
  apply_defaults(default_policy_, config_);
  enforcement_ = store_.read_enforcement().value_or(config_.enforcement);
  if (auto root = require_root(); !root)
    log(Level::error, "no run can start: {}", root.error().message);
  janitor_source_ = loop_.on_readable(janitor_.fd(), [this] {
    for (const auto& outcome : janitor_.take()) {
      if (outcome.removed == cgroup::Removed::busy)
        log(Level::error, "directory {} could not be removed: {}", outcome.name,
            outcome.error.empty() ? "still in use" : outcome.error);
    }
  });
}

Service::~Service() = default;

Surroundings Service::surroundings() {
  return {loop_, *watcher_, store_, janitor_, *root_, config_, survey_};
}

Entry& Service::entry_of(const ActiveRun& run) {
  return *registry_.of(run.record().invocation);
}

void Service::attach(dbus::Server& server) {
  server_ = &server;
  const auto all = registry_.all();  // a copy: runs may end while we go through them
  for (Entry* entry : all) {
    if (entry->run && observes(*entry->run, entry->run->overruled()))
      entry->status.report.enforcement = run::Enforcement::observe;
    server_->publish(entry->status);
  }
  for (Entry* entry : all) {
    if (entry->run) entry->run->go_on();
  }
}

void Service::run_started(ActiveRun& run) {
  Entry& entry = entry_of(run);
  entry.status.report.state = run::State::running;
  // The reply is queued before any signal of this invocation.
  if (entry.start_reply)
    std::exchange(entry.start_reply, {})(dbus::RunName{entry.id, entry.invocation});
  if (server_ == nullptr) return;
  server_->changed(entry.status, {"State", "DriverPID"});
  server_->run_started(entry.status);
}

void Service::run_departed(ActiveRun& run) {
  Entry& entry = entry_of(run);
  entry.waiters.look(entry.status);
  if (server_ == nullptr) return;
  server_->changed(entry.status, {"DriverPID", "DriverExit", "DriverStatus", "DriverExitTimestamp",
                                  "DriverExitTimestampMonotonic"});
  server_->driver_exited(entry.status);
}

void Service::run_leaked(ActiveRun& run) {
  if (server_ == nullptr) return;
  server_->changed(run.status(), {"Leaks"});
  server_->manager_changed({"Leaks"});
  server_->leaks_found(run.status());
}

void Service::run_stuck(ActiveRun& run) {
  Entry& entry = entry_of(run);
  if (server_ != nullptr) server_->changed(entry.status, {"Stuck"});
  std::string names;
  for (const auto& process : entry.status.report.leaks) {
    if (process.outcome != run::Outcome::stuck) continue;
    names +=
        fmt::format("{}pid {} ({}, {}{}{})", names.empty() ? "" : ", ", process.pid, process.comm,
                    process.state, process.wchan.empty() ? "" : " in ", process.wchan);
    if (names.size() > 1024) break;
  }
  entry.waiters.fail_ends(
      {run::FaultKind::still_populated,
       fmt::format(
           "end run \"{}\": killed, and {} still there: {}; it ends when the kernel lets them go",
           entry.id.text(), entry.status.report.stuck, names)});
}

void Service::run_changed(ActiveRun& run) {
  if (server_ != nullptr)
    server_->changed(run.status(),
                     {"State", "EndReason", "EndMessage", "EndedBy", "Frozen", "Leases"});
}

void Service::run_ended(ActiveRun& run) {
  Entry& entry = entry_of(run);
  gone_.push_back(std::move(entry.run));
  burial_ = loop_.soon([this] { gone_.clear(); });
  conclude(entry);
}

// The report is final: it is stored, told to all who wait, and kept for those who ask later.
void Service::conclude(Entry& entry) {
  store_report(entry);
  registry_.retire(entry);
  if (entry.start_reply)
    std::exchange(entry.start_reply, {})(run::fault(
        run::FaultKind::start_failed,
        fmt::format("start run \"{}\": {}", entry.id.text(), entry.status.report.end_message)));
  entry.waiters.ended(entry.status);
  if (server_ != nullptr) {
    server_->changed(entry.status,
                     {"State", "Result", "EndReason", "EndMessage", "EndedBy", "ControlGroup",
                      "DriverPID", "Leaks", "Stuck", "EndTimestamp", "EndTimestampMonotonic"});
    server_->run_ended(entry.status);
    server_->manager_changed({"Runs", "Leaks"});
  }
  if (Entry* parent = registry_.parent_of(entry); parent != nullptr && parent->run)
    parent->run->nested_ended(entry.status.report);
  dropping_ = loop_.soon([this] { drop_overdue(); });  // nobody is in the middle of them then
  look_whether_stopped();
}

// A report that the disk did not take is kept in memory and tried again with the next one.
void Service::store_report(const Entry& ended) {
  unsaved_.push_back(ended.invocation);
  std::erase_if(unsaved_, [this](const run::Invocation& invocation) {
    Entry* entry = registry_.of(invocation);
    if (entry == nullptr) return true;
    auto stored = store_.write_report(entry->status);
    if (!stored)
      log(Level::error,
          "store the report of run {}: {}; it is kept in memory and tried again at the next end",
          entry->id.text(), stored.error().message);
    return stored.has_value();
  });
}

void Service::drop_overdue() {
  const auto now = base::Moment::now();
  while (Entry* entry = registry_.overdue(now, config_)) {
    store_.forget(entry->invocation);
    if (server_ != nullptr) server_->withdraw(entry->invocation);
    registry_.erase(run::Invocation(entry->invocation));
  }
}

void Service::probe() {
  if (!root_) return;
  const std::string name = kProbePrefix + base::random_hex();
  auto group = root_->create(name);
  if (!group) return log(Level::warning, "probe the kernel: {}", group.error().message);
  probing_ = true;
  spawner_.probe(*group, [this, name, id = group->id()](Result<KernelBugs> bugs) {
    probing_ = false;
    janitor_.remove(root_->runs().fd(), name, id);
    if (!bugs) log(Level::warning, "probe the kernel: {}", bugs.error().message);
    if (bugs && bugs->dead_leader) features_.emplace_back("bug:kill-spares-dead-leader");
    if (bugs && bugs->killed_birth) features_.emplace_back("bug:birth-in-killed-cgroup");
    if (bugs && server_ != nullptr) server_->manager_changed({"Features"});
    look_whether_stopped();
  });
}

void Service::stop(base::Callback<void()> stopped) {
  stopping_ = true;
  stopped_ = std::move(stopped);
  stop_bound_ = loop_.after(config_.stop, [this] {
    if (stopped_) std::exchange(stopped_, {})();
  });
  look_whether_stopped();
}

void Service::look_whether_stopped() {
  if (!stopped_) return;
  const auto& all = registry_.all();
  const bool ending = std::ranges::any_of(
      all, [](const Entry* entry) { return entry->status.report.state == run::State::ending; });
  if (!ending && !probing_) std::exchange(stopped_, {})();
}

dbus::ManagerProperties Service::manager_properties() {
  dbus::ManagerProperties properties{.version = kVersion,
                                     .boot_id = boot_id_,
                                     .features = features_,
                                     .runs = static_cast<uint32_t>(registry_.live()),
                                     .leaks = 0,
                                     .enforcement = enforcement_};
  for (const Entry* entry : registry_.all()) {
    if (entry->run) properties.leaks += static_cast<uint32_t>(entry->run->own_leaks());
  }
  return properties;
}

std::vector<dbus::ConfigurationRow> Service::configuration() {
  return settings_.configuration.rows();
}

uint32_t Service::descendants(const run::Invocation& invocation) {
  uint32_t count = 0;
  for (const Entry* entry : registry_.all()) {
    if (entry->run && (entry->invocation == invocation || registry_.is_nested(*entry, invocation)))
      count += entry->run->count();
  }
  return count;
}

}  // namespace corral::daemon
