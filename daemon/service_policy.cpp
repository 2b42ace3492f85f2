#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/callers.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

using run::FaultKind;

constexpr size_t kLeases = 64;  // fds of one run

}  // namespace

bool Service::observes(const ActiveRun& run, bool overruled) {
  using run::Enforcement;
  if (enforcement_ == Enforcement::observe) return true;
  if (!overruled && run.record().policy.enforcement == Enforcement::observe) return true;
  const Entry* above = registry_.parent_of(entry_of(run));
  return above != nullptr && above->run && observes(*above->run, above->run->overruled());
}

// What holds of each live run from now on.
void Service::enforcement_changed() {
  const auto all = registry_.all();  // a copy: runs may end while we go through them
  for (Entry* entry : all) {
    if (!entry->run) continue;
    const bool looks_on = observes(*entry->run, entry->run->overruled());
    const auto now = looks_on ? run::Enforcement::observe : run::Enforcement::enforce;
    if (std::exchange(entry->status.report.enforcement, now) == now) continue;
    if (server_ != nullptr) server_->changed(entry->status, {"Enforcement"});
    entry->run->switched();
  }
}

// No run may say whether it is ended.
std::optional<run::Fault> Service::refuse_seated(const dbus::Caller& caller,
                                                 const std::string& what) const {
  const Seat seat = seat_of(caller, root_ ? &*root_ : nullptr);
  if (!seat.known) return run::Fault{FaultKind::access_denied, what + ": " + seat.why_not};
  if (!seat.run) return std::nullopt;
  return run::Fault{FaultKind::not_owner,
                    fmt::format("{}: the caller is inside run \"{}\", and no run decides what "
                                "is enforced",
                                what, seat.run->id.text())};
}

run::Answer<void> Service::set_enforcement(const dbus::Caller& caller, run::Enforcement value) {
  const auto what = fmt::format("set enforcement to {}", run::word(value));
  const bool system = settings_.bus.kind == dbus::BusKind::system;
  if (caller.uid != 0 && (system || caller.uid != geteuid()))
    return run::fault(FaultKind::access_denied,
                      fmt::format("{}: uid {} may not; ask as {}", what, caller.uid,
                                  system ? "root" : "root or as the service's own uid"));
  if (auto refused = refuse_seated(caller, what)) return tl::unexpected(std::move(*refused));
  if (auto stored = store_.write_enforcement(value); !stored)
    return run::fault(FaultKind::access_denied, what + ": " + stored.error().message);
  if (std::exchange(enforcement_, value) == value) return {};
  log(Level::notice, "enforcement is {} from now on, by {}", run::word(value), who(caller).text());
  if (server_ != nullptr) server_->manager_changed({"Enforcement"});
  enforcement_changed();
  return {};
}

// The live run of a call that changes it.
run::Answer<Entry*> Service::live_for(const dbus::Caller& caller, const dbus::RunRef& ref,
                                      dbus::Act act, const char* what) {
  auto entry = find_for(caller, ref, act);
  if (!entry || (*entry)->run) return entry;
  return run::fault(FaultKind::run_busy,
                    fmt::format("{} run \"{}\": it has ended", what, ref.id.text()));
}

run::Answer<void> Service::set_run(const dbus::Caller& caller, const dbus::RunRef& ref,
                                   dbus::SetOptions options) {
  auto entry = live_for(caller, ref, dbus::Act::signal, "change");
  if (!entry) return tl::unexpected(std::move(entry.error()));
  if (options.enforcement)
    if (auto refused =
            refuse_seated(caller, fmt::format("set enforcement of run \"{}\"", ref.id.text())))
      return tl::unexpected(std::move(*refused));
  run::Record record = (*entry)->run->record();
  if (options.owner) record.owner = std::move(*options.owner);
  if (options.description) record.description = std::move(*options.description);
  if (options.labels) record.labels = std::move(*options.labels);
  if (options.runtime_max) record.policy.runtime_max = *options.runtime_max;
  if (options.enforcement) record.policy.enforcement = *options.enforcement;
  if (auto amended = (*entry)->run->amend(std::move(record)); !amended)
    return run::fault(FaultKind::run_busy,
                      fmt::format("change run \"{}\": {}", ref.id.text(), amended.error().message));
  if (server_ != nullptr)
    server_->changed((*entry)->status, {"Owner", "Description", "Labels", "RuntimeMaxUSec"});
  if (options.enforcement) enforcement_changed();
  return {};
}

run::Answer<ActiveRun*> Service::leased(const dbus::Caller& caller, const dbus::RunRef& ref) {
  auto entry = live_for(caller, ref, dbus::Act::signal, "lease");
  if (!entry) return tl::unexpected(std::move(entry.error()));
  const auto state = (*entry)->status.report.state;
  if (state == run::State::starting || state == run::State::running) return (*entry)->run.get();
  return run::fault(FaultKind::run_busy,
                    fmt::format("lease run \"{}\": it is {}", ref.id.text(), run::word(state)));
}

run::Answer<void> Service::renew_lease(const dbus::Caller& caller, const dbus::RunRef& ref,
                                       std::chrono::microseconds ttl) {
  auto run = leased(caller, ref);
  if (!run) return tl::unexpected(std::move(run.error()));
  if (auto renewed = (*run)->renew_lease(ttl); !renewed)
    return run::fault(FaultKind::run_busy,
                      fmt::format("lease run \"{}\": {}", ref.id.text(), renewed.error().message));
  if (server_ != nullptr) server_->changed((*run)->status(), {"LeaseUSec"});
  return {};
}

run::Answer<UniqueFd> Service::acquire_lease(const dbus::Caller& caller, const dbus::RunRef& ref,
                                             std::string who, std::string why) {
  auto run = leased(caller, ref);
  if (!run) return tl::unexpected(std::move(run.error()));
  if ((*run)->status().leases.size() >= kLeases)
    return run::fault(FaultKind::limit_exceeded,
                      fmt::format("lease run \"{}\": it has {} leases, and may have no more",
                                  ref.id.text(), kLeases));
  auto lease = (*run)->acquire_lease(why.empty() ? std::move(who) : who + ": " + why);
  if (!lease)
    return run::fault(FaultKind::limit_exceeded,
                      fmt::format("lease run \"{}\": {}", ref.id.text(), lease.error().message));
  if (server_ != nullptr) server_->changed((*run)->status(), {"Leases"});
  return std::move(*lease);
}

void Service::freeze_run(const dbus::Caller& caller, const dbus::RunRef& ref, bool frozen,
                         dbus::Reply<void> reply) {
  auto entry = live_for(caller, ref, frozen ? dbus::Act::freeze : dbus::Act::signal,
                        frozen ? "freeze" : "thaw");
  if (!entry) return reply(tl::unexpected(std::move(entry.error())));
  const auto batch = freezes_.insert(freezes_.end(), FreezeBatch{std::move(reply)});
  const auto all = registry_.all();
  std::vector<run::Invocation> chosen;
  for (const Entry* other : all) {
    const bool inside = other == *entry || registry_.is_nested(*other, (*entry)->invocation);
    // Those that end are passed over, but for the one that was asked for.
    const bool lives = other == *entry || other->status.report.state == run::State::running ||
                       other->status.report.state == run::State::holding;
    if (other->run && inside && lives) chosen.push_back(other->invocation);
  }
  const auto settle = [this, batch, frozen, chosen](run::Answer<void> answer) {
    if (!answer && !batch->failed) batch->failed = std::move(answer.error());
    if (--batch->open > 0) return;
    auto done = std::move(*batch);
    freezes_.erase(batch);
    if (!done.failed) return done.reply({});
    for (const auto& invocation : chosen) {  // all or none
      Entry* one = registry_.of(invocation);
      if (frozen && one != nullptr && one->run && one->status.frozen)
        one->run->set_frozen(false, [](const run::Answer<void>&) {});
    }
    done.reply(tl::unexpected(*done.failed));
  };
  batch->open += chosen.size();
  for (const auto& invocation : chosen) registry_.of(invocation)->run->set_frozen(frozen, settle);
  settle({});
}

}  // namespace corral::daemon
