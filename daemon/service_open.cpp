#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "cgroup/pidfd.h"
#include "cgroup/processes.h"
#include "daemon/callers.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

using run::FaultKind;

// The caller as a record has it; pid 0 where its process is gone.
run::ProcessName name_of(const dbus::Caller& caller) {
  const auto start = caller.pid != 0 ? cgroup::start_time(caller.pid) : std::nullopt;
  // Read first, then asked whether it is still there: else the number could be another's by now.
  if (!start || has_exited(caller)) return {};
  return {.pid = static_cast<uint32_t>(caller.pid), .start_time = *start};
}

}  // namespace

run::Answer<Service::Descent> Service::descent_of(const dbus::Caller& caller,
                                                  const run::Spec& spec) {
  const auto refused = [&](FaultKind kind, const std::string& why) {
    return run::fault(kind, fmt::format("start run \"{}\": {}", spec.id.text(), why));
  };
  const Seat seat = seat_of(caller, &*root_);
  if (!seat.known)
    return refused(FaultKind::access_denied,
                   "find out whether the caller is inside a run: " + seat.why_not);
  Entry* parent = seat.run ? registry_.of(seat.run->invocation) : nullptr;
  if (seat.run && parent == nullptr)
    return refused(FaultKind::access_denied, "the caller sits in a run that is not known");
  if (spec.parent && spec.parent->empty()) return Descent{nullptr, seat.run};
  if (spec.parent && !spec.parent->empty()) {
    auto named =
        find_for(caller, {*run::RunId::parse(*spec.parent), std::nullopt}, dbus::Act::signal);
    if (!named) return tl::unexpected(std::move(named.error()));
    parent = *named;
  }
  if (parent == nullptr || parent->status.report.state == run::State::running)
    return Descent{parent, {}};
  return refused(FaultKind::run_busy,
                 fmt::format("its parent, run \"{}\", is {}", parent->id.text(),
                             run::word(parent->status.report.state)));
}

run::Answer<dbus::OpenedRun> Service::open_run(const dbus::Caller& caller, run::Spec spec) {
  const auto opened = [this](const Entry& entry, const std::string& place) {
    return dbus::OpenedRun{{entry.id, entry.invocation}, root_->directory_of(place)};
  };
  auto admitted = admit(caller, spec);
  if (!admitted) return tl::unexpected(std::move(admitted.error()));
  if (Entry** known = std::get_if<Entry*>(&*admitted)) {
    if ((*known)->run) return opened(**known, (*known)->run->place());
    return dbus::OpenedRun{{(*known)->id, (*known)->invocation}, ""};
  }
  auto& [made, record, place] = std::get<Beginning>(*admitted);
  record.opener = name_of(caller);
  if (record.opener.pid == 0)
    return run::fault(FaultKind::pid_unknown,
                      fmt::format("open run \"{}\": the caller's process is "
                                  "gone",
                                  spec.id.text()));
  Entry& entry = registry_.add(std::move(made));
  auto begun = begin_opened(entry, std::move(record), place);
  if (!begun) {
    const run::Fault fault = fault_of_start(entry, begun.error());
    fail_start(entry, place, begun.error());
    return tl::unexpected(fault);
  }
  if (server_ != nullptr) {
    server_->publish(entry.status);
    server_->manager_changed({"Runs"});
  }
  return opened(entry, place);
}

// A library that throws (no memory, no fd for the loop) fails this start like any other step.
Result<void> Service::begin_opened(Entry& entry, run::Record record, const std::string& place) try {
  auto whole = prepare(entry, record, place);
  if (!whole) return whole.error();
  auto work = cgroup::Group::create(whole->fd(), "work");
  if (!work) return work.error();
  auto run =
      std::make_unique<ActiveRun>(surroundings(), *this, std::move(record), place, entry.status);
  run->tie();
  entry.run = std::move(run);
  return {};
} catch (const std::exception& error) {
  return Error{error.what(), 0};
}

// The live run, where the caller is the process that opened it.
run::Answer<ActiveRun*> Service::opened_by(const dbus::Caller& caller, const run::Invocation& run,
                                           const char* what) {
  Entry* entry = registry_.of(run);
  if (entry == nullptr || !entry->run)
    return run::fault(FaultKind::run_busy, fmt::format("{}: the run has ended", what));
  const run::ProcessName& opener = entry->run->record().opener;
  if (opener.pid == 0)
    return run::fault(FaultKind::not_supported,
                      fmt::format("{}: run \"{}\" has a driver of the service's own; open one with "
                                  "OpenRun",
                                  what, entry->id.text()));
  if (name_of(caller) == opener) return entry->run.get();
  return run::fault(FaultKind::access_denied,
                    fmt::format("{}: run \"{}\" is pid {}'s, which opened it, not pid {}'s", what,
                                entry->id.text(), opener.pid, caller.pid));
}

// The other live run that has the process: as its driver, or as a member where neither this one is
// nested in it nor the opener sits in it. Out of such a run a process may be taken: the child of
// one who sits there is born there, also where what it opened has no parent, or another one.
Entry* Service::taken_by(const ActiveRun& run, pid_t pid) {
  for (Entry* entry : registry_.all())
    if (entry->run && entry->run.get() != &run && entry->run->live_driver() == pid) return entry;
  const auto seat = root_->run_of(pid);
  if (!seat || !*seat) return nullptr;  // gone, as attach() will say, or free
  const auto& invocation = (*seat)->invocation;
  Entry* entry = registry_.of(invocation);
  const auto openers = root_->run_of(static_cast<int>(run.record().opener.pid));
  const bool ours = invocation == run.record().invocation ||
                    registry_.is_nested(entry_of(run), invocation) ||
                    (openers && *openers && (*openers)->invocation == invocation);
  return entry != nullptr && entry->run && !ours ? entry : nullptr;
}

run::Answer<void> Service::attach(const dbus::Caller& caller, const run::Invocation& run,
                                  uint32_t pid) {
  auto opened = opened_by(caller, run, "attach");
  if (!opened) return tl::unexpected(std::move(opened.error()));
  if (pid == 0 || pid > INT32_MAX)
    return run::fault(FaultKind::invalid_args, fmt::format("attach: {} is no process id", pid));
  if (!same_pid_namespace(caller))
    return run::fault(
        FaultKind::not_supported,
        fmt::format("attach pid {}: the caller lives in another pid namespace, where its "
                    "numbers mean other processes; give it a service of its own in "
                    "there (corralctl --embedded run)",
                    pid));
  if (const Entry* other = taken_by(**opened, static_cast<pid_t>(pid)))
    return run::fault(
        FaultKind::run_busy,
        fmt::format(
            "attach pid {} to run \"{}\": it is {} run \"{}\"; attach one "
            "that is in no other run",
            pid, (*opened)->record().id.text(),
            other->run->live_driver() == static_cast<pid_t>(pid) ? "the driver of" : "a process of",
            other->id.text()));
  return (*opened)->attach(static_cast<pid_t>(pid));
}

run::Answer<void> Service::report_exit(const dbus::Caller& caller, const run::Invocation& run,
                                       run::DriverExit exit, int32_t status) {
  if (const Entry* entry = registry_.of(run); entry != nullptr && entry->ended()) return {};
  auto opened = opened_by(caller, run, "report an exit");
  if (!opened) return tl::unexpected(std::move(opened.error()));
  return (*opened)->report_exit(exit, status);
}

bool Service::holds_runs(const ActiveRun& run) {
  return entry_of(run).nested > 0;
}

std::vector<run::Process> Service::nested_processes(const ActiveRun& run) {
  std::vector<run::Process> rows;
  if (!holds_runs(run)) return rows;
  for (const Entry* entry : registry_.all()) {
    if (!entry->run || !registry_.is_nested(*entry, run.record().invocation)) continue;
    for (auto& process : entry->run->processes()) {
      process.run = entry->id.text();
      process.invocation = entry->invocation.text();
      rows.push_back(std::move(process));
    }
  }
  std::ranges::sort(rows, run::shown_before);
  for (size_t i = 0; i < std::min(rows.size(), run::kListedLeaks); ++i) cgroup::describe(rows[i]);
  return rows;
}

void Service::end_nested(ActiveRun& run, std::chrono::microseconds grace) {
  const Entry& parent = entry_of(run);
  if (parent.nested == 0) return;
  const auto all = registry_.all();  // a copy: runs may end while we go through them
  for (Entry* entry : all) {
    if (!entry->run || registry_.parent_of(*entry) != &parent) continue;
    entry->run->end({.grace = grace,
                     .message = fmt::format("run \"{}\" ended", parent.id.text()),
                     .by = {},
                     .reason = run::EndReason::parent_ended});
  }
}

}  // namespace corral::daemon
