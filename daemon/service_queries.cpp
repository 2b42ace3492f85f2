#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cgroup/processes.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

using LabelFilter = std::optional<std::pair<std::string, std::optional<std::string>>>;

bool has_label(const run::Status& status, const LabelFilter& wanted) {
  if (!wanted) return true;
  const auto label = status.labels.find(wanted->first);
  if (label == status.labels.end()) return false;
  return !wanted->second || *wanted->second == label->second;
}

bool has_owner(const run::Status& status, const std::optional<std::string>& wanted) {
  return !wanted || status.report.owner == *wanted;
}

bool listens_on(const run::Process& process, const std::optional<uint16_t>& port) {
  if (!port) return true;
  const std::string end = ":" + std::to_string(*port);
  return std::ranges::any_of(process.listening, [&](const std::string& name) {
    return !name.starts_with("unix:") && name.ends_with(end);
  });
}

bool wants(const dbus::ProcessFilter& filter, const Entry& entry) {
  if (filter.run && *filter.run != entry.id) return false;
  if (filter.invocation && *filter.invocation != entry.invocation) return false;
  return has_owner(entry.status, filter.owner) && has_label(entry.status, filter.label);
}

// Rows that fit the filter, in order, after Offset and up to Limit.
class Page {
 public:
  explicit Page(const dbus::ProcessFilter& filter) : filter_(filter) {}

  void add(const Entry& entry, std::vector<run::Process> processes) {
    std::ranges::sort(processes, run::shown_before);
    for (auto& process : processes) {
      if (filter_.pid && process.pid != *filter_.pid) continue;
      if (!listens_on(process, filter_.port)) continue;
      if (seen_++ < filter_.offset || rows_.size() >= filter_.limit) continue;
      if (process.run.empty()) process.run = entry.id.text();
      if (process.invocation.empty()) process.invocation = entry.invocation.text();
      rows_.push_back(std::move(process));
    }
  }
  // The command lines of the page, and of no others: a run may have ten thousand.
  void describe() {
    for (auto& row : rows_) cgroup::describe(row);
  }
  std::vector<run::Process> take() { return std::move(rows_); }

 private:
  const dbus::ProcessFilter& filter_;
  uint64_t seen_ = 0;
  std::vector<run::Process> rows_;
};

}  // namespace

run::Answer<std::vector<const run::Status*>> Service::list_runs(const dbus::Caller&,
                                                                const dbus::RunFilter& filter) {
  std::vector<const run::Status*> found;
  for (const Entry* entry : registry_.all()) {
    if (matches(filter, *entry)) found.push_back(&entry->status);
  }
  return found;
}

bool Service::matches(const dbus::RunFilter& filter, const Entry& entry) {
  const auto& status = entry.status;
  if (filter.state ? status.report.state != *filter.state : entry.ended() && !filter.all)
    return false;
  const std::string parent = status.parent ? status.parent->id.text() : "";
  if (filter.parent && *filter.parent != parent) return false;
  return has_owner(status, filter.owner) && has_label(status, filter.label);
}

run::Answer<std::vector<run::Process>> Service::list_processes(const dbus::Caller& caller,
                                                               const dbus::ProcessFilter& filter) {
  if (filter.run) {
    if (auto entry = find_for(caller, {*filter.run, filter.invocation}, dbus::Act::see); !entry)
      return run::Answer<std::vector<run::Process>>(tl::unexpect, entry.error());
  }
  Page page(filter);
  for (const Entry* entry : registry_.all()) {
    if (entry->run && wants(filter, *entry) && may_see(caller, *entry))
      page.add(*entry, entry->run->processes());
  }
  page.describe();
  return page.take();
}

run::Answer<std::vector<run::Process>> Service::list_leaks(const dbus::Caller& caller,
                                                           const dbus::ProcessFilter& filter) {
  if (filter.run) {
    if (auto entry = find_for(caller, {*filter.run, filter.invocation}, dbus::Act::see); !entry)
      return run::Answer<std::vector<run::Process>>(tl::unexpect, entry.error());
  }
  Page page(filter);
  for (const Entry* entry : registry_.all()) {
    if (!wants(filter, *entry) || !may_see(caller, *entry)) continue;
    auto leaks = entry->status.report.leaks;
    // Those of the runs in it are listed with their own, unless it alone was asked for.
    if (!filter.run)
      std::erase_if(leaks, [&](const run::Process& leak) {
        return leak.invocation != entry->invocation.text();
      });
    page.add(*entry, std::move(leaks));
  }
  return page.take();
}

}  // namespace corral::daemon
