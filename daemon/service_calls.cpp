#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "cgroup/mount.h"
#include "daemon/callers.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

using run::FaultKind;

template <typename T>
run::Answer<T> refusal(run::Fault fault) {
  return run::Answer<T>(tl::unexpect, std::move(fault));
}

}  // namespace

std::optional<run::Fault> Service::refuse(const dbus::Caller& caller, const Entry& entry,
                                          dbus::Act act, bool allow_self) {
  const Seat seat = act == dbus::Act::see ? Seat{.known = true, .why_not = {}, .run = {}}
                                          : seat_of(caller, root_ ? &*root_ : nullptr);
  return dbus::refuse({.act = act,
                       .caller_uid = caller.uid,
                       .owner_uid = entry.status.report.owner_uid,
                       .system_bus = settings_.bus.kind == dbus::BusKind::system,
                       .position = position(seat, entry),
                       .run = entry.id.text(),
                       .allow_self = allow_self});
}

// The seat as it is seen from one run.
dbus::Position Service::position(const Seat& seat, const Entry& entry) {
  if (!seat.known) return dbus::Position::unknown;
  if (!seat.run) return dbus::Position::outside;
  if (seat.run->invocation == entry.invocation) return dbus::Position::inside_this;
  if (registry_.is_nested(entry, seat.run->invocation)) return dbus::Position::above;
  const Entry* innermost = registry_.of(seat.run->invocation);
  const bool nested = innermost != nullptr && registry_.is_nested(*innermost, entry.invocation);
  return nested ? dbus::Position::inside_nested : dbus::Position::inside_other;
}

bool Service::may_see(const dbus::Caller& caller, const Entry& entry) {
  return !refuse(caller, entry, dbus::Act::see);
}

run::Answer<Entry*> Service::find_for(const dbus::Caller& caller, const dbus::RunRef& ref,
                                      dbus::Act act, bool allow_self) {
  auto entry = registry_.find(ref);
  if (!entry) return entry;
  if (auto refused = refuse(caller, **entry, act, allow_self)) return refusal<Entry*>(*refused);
  return entry;
}

void Service::wait_run(const dbus::Caller&, const dbus::RunRef& ref, dbus::WaitOptions options,
                       dbus::Reply<run::Status> reply) {
  auto entry = registry_.find(ref);
  if (!entry) return reply(refusal<run::Status>(entry.error()));
  (*entry)->waiters.for_state((*entry)->status, options, std::move(reply));
}

run::Answer<run::Report> Service::get_report(const dbus::Caller& caller, const dbus::RunRef& ref) {
  auto entry = find_for(caller, ref, dbus::Act::see);
  if (!entry) return refusal<run::Report>(entry.error());
  return (*entry)->status.report;
}

run::Answer<void> Service::signal_run(const dbus::Caller& caller, const dbus::RunRef& ref,
                                      dbus::Whom whom, int signal) {
  // SIGKILL to all is an end in all but its report.
  const bool ends = whom == dbus::Whom::all && signal == SIGKILL;
  auto entry = find_for(caller, ref, ends ? dbus::Act::end : dbus::Act::signal);
  if (!entry) return refusal<void>(entry.error());
  const auto& id = ref.id.text();
  if ((*entry)->ended() || (*entry)->run->starting())
    return run::fault(FaultKind::run_busy,
                      fmt::format("signal run \"{}\": it is {}, and nothing of it can be signalled",
                                  id, run::word((*entry)->status.report.state)));
  ActiveRun& live = *(*entry)->run;
  const auto sent =
      whom == dbus::Whom::driver ? live.signal_driver(signal) : live.signal_everyone(signal);
  if (sent) return {};
  const auto kind = sent.error().code == ESRCH ? FaultKind::run_busy : FaultKind::access_denied;
  return run::fault(kind, fmt::format("signal run \"{}\": {}", id, sent.error().message));
}

run::Answer<dbus::RunName> Service::get_run(const dbus::RunRef& ref) {
  auto entry = registry_.find(ref);
  if (!entry) return refusal<dbus::RunName>(entry.error());
  return dbus::RunName{(*entry)->id, (*entry)->invocation};
}

run::Answer<dbus::RunName> Service::get_run_by_pid(const dbus::Caller& caller, uint32_t pid) {
  const pid_t asked = pid == 0 ? caller.pid : static_cast<pid_t>(pid);
  if (pid > INT32_MAX)
    return run::fault(FaultKind::pid_unknown,
                      fmt::format("get run by pid {}: there is no such process", pid));
  if (asked <= 0)
    return run::fault(FaultKind::pid_unknown, "get run by pid: the caller's process is gone");
  if (pid != 0 && !same_pid_namespace(caller))
    return run::fault(
        FaultKind::not_supported,
        fmt::format(
            "get run by pid {}: the caller lives in another pid namespace; ask with 0 for itself",
            pid));
  if (!root_)
    return run::fault(FaultKind::no_run_for_pid,
                      fmt::format("get run by pid {}: no run is known", asked));
  auto run = root_->run_of(asked);
  if (!run)
    return run::fault(FaultKind::pid_unknown,
                      fmt::format("get run by pid {}: {}", asked, run.error().message));
  Entry* entry = *run ? registry_.of((*run)->invocation) : nullptr;
  if (entry == nullptr)
    return run::fault(FaultKind::no_run_for_pid,
                      fmt::format("get run by pid {}: it is in no run", asked));
  return dbus::RunName{entry->id, entry->invocation};
}

run::Answer<void> Service::forget_run(const dbus::Caller& caller, const dbus::RunRef& ref) {
  auto entry = find_for(caller, ref, dbus::Act::signal);
  if (!entry) return refusal<void>(entry.error());
  if (!(*entry)->ended())
    return run::fault(FaultKind::run_busy,
                      fmt::format("forget run \"{}\": it is {}; end it first", ref.id.text(),
                                  run::word((*entry)->status.report.state)));
  const run::Invocation invocation = (*entry)->invocation;
  store_.forget(invocation);
  if (server_ != nullptr) server_->withdraw(invocation);
  registry_.erase(invocation);
  return {};
}

}  // namespace corral::daemon
