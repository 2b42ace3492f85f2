#include "daemon/registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace corral::daemon {

Entry& Registry::add(std::unique_ptr<Entry> entry) {
  Entry& added = *entry;
  const auto started = [](const Entry* e) { return e->status.report.start.realtime_usec; };
  for (auto* entries : {&by_id_[added.id], &in_order_})
    entries->insert(std::ranges::upper_bound(*entries, started(&added), {}, started), &added);
  by_invocation_.emplace(added.invocation, std::move(entry));
  if (Entry* parent = parent_of(added); parent != nullptr && !added.ended()) ++parent->nested;
  return added;
}

void Registry::erase(const run::Invocation& invocation) {
  const auto found = by_invocation_.find(invocation);
  if (found == by_invocation_.end()) return;
  Entry* entry = found->second.get();
  if (!entry->ended()) leave_parent(*entry);
  auto& of_id = by_id_[entry->id];
  std::erase(of_id, entry);
  if (of_id.empty()) by_id_.erase(entry->id);
  std::erase(in_order_, entry);
  std::erase(ended_, entry);
  by_invocation_.erase(found);
}

run::Answer<Entry*> Registry::find(const dbus::RunRef& ref) {
  Entry* newest_entry = newest(ref.id);
  if (newest_entry == nullptr)
    return run::fault(run::FaultKind::no_such_run,
                      fmt::format("no run \"{}\" is known", ref.id.text()));
  if (!ref.invocation) return newest_entry;
  Entry* entry = of(*ref.invocation);
  if (entry != nullptr && entry->id == ref.id) return entry;
  return run::fault(run::FaultKind::invocation_mismatch,
                    fmt::format("run \"{}\" has no invocation {}; its newest is {}", ref.id.text(),
                                ref.invocation->text(), newest_entry->invocation.text()));
}

Entry* Registry::newest(const run::RunId& id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second.back();
}

Entry* Registry::of(const run::Invocation& invocation) {
  const auto found = by_invocation_.find(invocation);
  return found == by_invocation_.end() ? nullptr : found->second.get();
}

void Registry::retire(Entry& entry) {
  ended_.push_back(&entry);
  leave_parent(entry);
}

void Registry::leave_parent(const Entry& entry) {
  if (Entry* parent = parent_of(entry); parent != nullptr && parent->nested > 0) --parent->nested;
}

Entry* Registry::parent_of(const Entry& entry) {
  return entry.status.parent ? of(entry.status.parent->invocation) : nullptr;
}

bool Registry::is_nested(const Entry& entry, const run::Invocation& in) {
  for (const Entry* above = parent_of(entry); above != nullptr; above = parent_of(*above))
    if (above->invocation == in) return true;
  return false;
}

Entry* Registry::overdue(const base::Moment& now, const Config& config) {
  if (ended_.empty()) return nullptr;
  Entry* oldest = ended_.front();
  const auto& keep = config.keep_reports_for;
  // Reports come from earlier boots too: only the realtime clock compares.
  const bool too_old =
      keep && oldest->status.report.end.realtime_usec + static_cast<uint64_t>(keep->count()) <
                  now.realtime_usec;
  return ended_.size() > config.keep_reports || too_old ? oldest : nullptr;
}

}  // namespace corral::daemon
