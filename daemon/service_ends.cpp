#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/callers.h"
#include "daemon/service.h"
#include "dbus/errors.h"

namespace corral::daemon {

using run::FaultKind;

void Service::end_run(const dbus::Caller& caller, const dbus::RunRef& ref, dbus::EndOptions options,
                      dbus::Reply<run::Report> reply) {
  auto entry = find_for(caller, ref, dbus::Act::end, options.allow_self);
  if (!entry) return reply(tl::unexpected(std::move(entry.error())));
  end_entry(**entry, std::move(options), who(caller).text(), std::move(reply));
}

void Service::end_entry(Entry& entry, dbus::EndOptions options, std::string by,
                        dbus::Reply<run::Report> reply) {
  if (entry.ended()) return reply(entry.status.report);
  const auto invocation = entry.invocation;
  const bool waits = !options.no_block;
  if (waits) entry.waiters.for_end(std::move(reply));
  entry.run->end(
      {.grace = options.grace, .message = std::move(options.reason), .by = std::move(by)});
  Entry* after = registry_.of(invocation);  // retention may have dropped it
  if (after == nullptr) return;
  if (after->run && after->status.report.state == run::State::holding) tell_observed(*after);
  if (waits) return;
  if (auto observed = observed_fault(*after)) return reply(tl::unexpected(*observed));
  reply(after->status.report);
}

std::optional<run::Fault> Service::observed_fault(const Entry& entry) const {
  if (entry.ended() || entry.status.report.enforcement != run::Enforcement::observe)
    return std::nullopt;
  return run::Fault{
      FaultKind::observing,
      fmt::format("end run \"{}\": enforcement is observe, so nothing was signalled; GetReport has "
                  "what was met, and SetEnforcement or SetRun with enforce ends it",
                  entry.id.text())};
}

void Service::tell_observed(Entry& entry) {
  if (auto observed = observed_fault(entry)) entry.waiters.fail_ends(*observed);
}

void Service::run_held(ActiveRun& run) {
  Entry& entry = entry_of(run);
  entry.waiters.look(entry.status);
  tell_observed(entry);
  if (server_ != nullptr)
    server_->changed(entry.status, {"State", "EndReason", "EndMessage", "EndedBy", "Frozen"});
  look_whether_stopped();
}

// The live ones that the caller may end, by one choice for a dry run and for an end.
std::vector<Entry*> Service::choose(const dbus::Caller& caller,
                                    const dbus::EndRunsOptions& options) {
  const auto now = base::Moment::now();
  const auto is_old = [&](const run::Report& report) {
    const auto& since = report.driver_exited ? report.driver_exited : report.start;
    return !options.older_than || base::between(since, now) >= *options.older_than;
  };
  std::vector<Entry*> chosen;
  for (Entry* entry : registry_.all()) {
    const bool wanted =
        entry->run && matches(options.filter, *entry) && is_old(entry->status.report);
    if (wanted && !refuse(caller, *entry, dbus::Act::end)) chosen.push_back(entry);
  }
  const auto all = chosen;
  std::erase_if(chosen, [&](const Entry* entry) {
    return std::ranges::any_of(
        all, [&](const Entry* other) { return registry_.is_nested(*entry, other->invocation); });
  });
  return chosen;
}

void Service::end_runs(const dbus::Caller& caller, dbus::EndRunsOptions options,
                       dbus::Reply<std::vector<dbus::EndedRow>> reply) {
  const auto chosen = choose(caller, options);
  const auto batch = ends_.insert(ends_.end(), EndBatch{std::move(reply)});
  std::vector<run::Invocation> invocations;
  for (const Entry* entry : chosen) {
    invocations.push_back(entry->invocation);
    batch->rows.push_back({.name = {entry->id, entry->invocation},
                           .state = entry->status.report.state,
                           .processes = descendants(entry->invocation),
                           .outcome = "would-end",
                           .message = ""});
  }
  if (!options.dry_run) {
    batch->open += chosen.size();
    const auto by = who(caller).text();
    for (size_t i = 0; i < invocations.size(); ++i) {
      const auto told = [this, batch, i](const run::Answer<run::Report>& answer) {
        auto& row = batch->rows[i];
        if (const Entry* entry = registry_.of(row.name.invocation))
          row.state = entry->status.report.state;
        row.outcome = answer ? "ended" : dbus::error_name(answer.error().kind);
        if (!answer) row.message = answer.error().message;
        end_told(batch);
      };
      // Ended meanwhile, with another one of the list.
      Entry* entry = registry_.of(invocations[i]);
      entry != nullptr ? end_entry(*entry, options.end, by, told) : told(run::Report{});
    }
  }
  end_told(batch);
}

void Service::end_told(std::list<EndBatch>::iterator batch) {
  if (--batch->open > 0) return;
  auto done = std::move(*batch);
  ends_.erase(batch);
  done.reply(std::move(done.rows));
}

}  // namespace corral::daemon
