#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "base/file.h"
#include "base/log.h"
#include "cgroup/record.h"
#include "daemon/callers.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

// Errors that mean that this cgroup is not ours to use, rather than that this start went wrong.
bool is_undelegated(int code) {
  return code == EACCES || code == EPERM || code == EROFS || code == ENODEV || code == ENOENT;
}

run::Containment containment_of(const Root& root) {
  // Who may write here may move a process out: the driver has our uid.
  const bool writable = faccessat(root.runs().fd(), "cgroup.procs", W_OK, AT_EACCESS) == 0;
  return writable ? run::Containment::cooperative : run::Containment::enforced;
}

run::Record make_record(const run::Spec& spec, uint32_t owner_uid, const std::string& boot_id,
                        run::Containment containment) {
  return {.id = spec.id,
          .invocation = *run::Invocation::parse(base::random_hex()),
          .owner = spec.owner,
          .owner_uid = owner_uid,
          .token = spec.token,
          .description = spec.description,
          .labels = spec.labels,
          .policy = spec.policy,
          .boot_id = boot_id,
          .cgroup_id = 0,
          .start = base::Moment::now(),
          .containment = containment};
}

}  // namespace

// Tried again at each start: what was missing may have been delegated since.
Result<Root*> Service::require_root() {
  if (root_ && root_->exists()) return &*root_;
  // They refer to it, and will have found that they are lost.
  const bool live =
      std::ranges::any_of(registry_.all(), [](const Entry* e) { return bool(e->run); });
  if (root_ && (live || !gone_.empty()))
    return Error{fmt::format("{} was removed, and runs that were in it are still ending; start it "
                             "again when they have ended",
                             root_->directory_of("")),
                 ENOENT};
  if (root_) log(Level::warning, "{} was removed; it is made again", root_->directory_of(""));
  const auto& given = config_.cgroup_root;
  auto root = Root::open(given.empty() ? std::nullopt : std::optional(given));
  if (!root) return root.error();
  if (!root_)
    root_.emplace(std::move(*root));
  else if (auto made = root_->become(*root); !made)
    return made.error();
  return &*root_;
}

std::optional<run::Fault> Service::refuse_start(const dbus::Caller& caller, const run::RunId& id) {
  using run::FaultKind;
  if (stopping_)
    return run::Fault{FaultKind::not_supported,
                      "start: the service is stopping; ask again when it is back"};
  if (caller.uid != 0 && (caller.uid != geteuid() || settings_.bus.kind == dbus::BusKind::system))
    return run::Fault{FaultKind::access_denied,
                      fmt::format("start run \"{}\": uid {} may not start runs here; ask as root",
                                  id.text(), caller.uid)};
  auto root = require_root();
  if (!root)
    return run::Fault{FaultKind::containment_unavailable,
                      fmt::format("start run \"{}\": {}", id.text(), root.error().message)};
  return std::nullopt;
}

run::Answer<std::variant<Entry*, Service::Beginning>> Service::admit(const dbus::Caller& caller,
                                                                     const run::Spec& spec) {
  Entry* known = registry_.newest(spec.id);
  // Asked before what may be refused: a repeated request gets the answer of the first.
  if (known != nullptr && !spec.token.empty() && known->status.report.token == spec.token &&
      known->status.report.owner_uid == caller.uid)
    return known;
  if (auto refused = refuse_start(caller, spec.id)) return tl::unexpected(std::move(*refused));
  auto descent = descent_of(caller, spec);
  if (!descent) return tl::unexpected(std::move(descent.error()));
  if (known != nullptr && !known->ended())
    return run::fault(
        run::FaultKind::run_exists,
        fmt::format(
            "start run \"{}\": it is {} as invocation {}; end it first, or choose another id",
            spec.id.text(), run::word(known->status.report.state), known->invocation.text()));

  auto record = make_record(spec, caller.uid, boot_id_, containment_of(*root_));
  record.spared_from = descent->spared_from;
  auto entry = std::make_unique<Entry>(loop_, record.id, record.invocation);
  entry->status = initial_status(record);
  std::string place = run::directory_name(record.id, record.invocation);
  if (const Entry* parent = descent->parent) {
    entry->status.parent = run::DirectoryName{parent->id, parent->invocation};
    place = nested_place(parent->run->place(), place);
    if (parent->status.report.enforcement == run::Enforcement::observe)
      entry->status.report.enforcement = run::Enforcement::observe;
  }
  if (enforcement_ == run::Enforcement::observe)
    entry->status.report.enforcement = run::Enforcement::observe;
  return Beginning{std::move(entry), std::move(record), std::move(place)};
}

void Service::start_run(const dbus::Caller& caller, run::Spec spec,
                        dbus::Reply<dbus::RunName> reply) {
  auto admitted = admit(caller, spec);
  if (!admitted) return reply(tl::unexpected(std::move(admitted.error())));
  if (Entry** known = std::get_if<Entry*>(&*admitted))
    return reply(dbus::RunName{(*known)->id, (*known)->invocation});
  auto& [made, record, place] = std::get<Beginning>(*admitted);
  made->start_reply = std::move(reply);
  Entry& entry = registry_.add(std::move(made));
  auto started = begin(entry, std::move(record), place, spec);
  if (!started && entry.run) return entry.run->born(started.error());  // something may live already
  if (!started) return fail_start(entry, place, started.error());
  if (server_ == nullptr) return;
  server_->publish(entry.status);  // while the spawner works
  server_->manager_changed({"Runs"});
}

// A library that throws (no memory, no fd for the loop) fails this start like any other step.
Result<void> Service::begin(Entry& entry, run::Record record, const std::string& place,
                            const run::Spec& spec) try {
  auto whole = prepare(entry, record, place);
  if (!whole) return whole.error();
  auto init = cgroup::Group::create(whole->fd(), "init");
  if (!init) return init.error();
  auto work = cgroup::Group::create(whole->fd(), "work");
  if (!work) return work.error();
  entry.run =
      std::make_unique<ActiveRun>(surroundings(), *this, std::move(record), place, entry.status);
  return launch(entry, {.whole = *whole, .init = *init, .work = *work}, spec);
} catch (const std::exception& error) {
  return Error{error.what(), 0};
}

// mkdir <run>, record, stub, and then its parts: in this order, so that whatever is found of a
// start that was cut off says what it is.
Result<cgroup::Group> Service::prepare(Entry& entry, run::Record& record,
                                       const std::string& place) {
  auto directory = root_->create(place);
  if (!directory) return directory;
  record.cgroup_id = directory->id();
  entry.status.control_group_id = record.cgroup_id;
  if (auto written = cgroup::write_record(*directory, run::kRecordXattr, run::to_json(record));
      !written)
    return written.error();
  if (auto written = store_.write_stub(record); !written) return written.error();
  return directory;
}

Result<void> Service::launch(Entry& entry, const Groups& groups, const run::Spec& spec) {
  auto exit_file = store_.make_exit_file(entry.invocation);
  if (!exit_file) return exit_file.error();
  const Birth birth{.spec = spec,
                    .invocation = entry.invocation,
                    .run = groups.whole,
                    .init = groups.init,
                    .work = groups.work,
                    .exit_file = exit_file->get()};
  spawner_.start(birth, [this, invocation = entry.invocation](Result<Born> outcome) {
    Entry* born = registry_.of(invocation);
    if (outcome && outcome->moved)
      log(Level::notice, "run {}: its processes were moved into the cgroup, not born there",
          born != nullptr ? born->id.text() : "?");
    if (born != nullptr && born->run) born->run->born(std::move(outcome));
  });
  return {};
}

// Nothing was born. The directory goes, and the object stays with its report.
void Service::fail_start(Entry& entry, const std::string& place, const Error& error) {
  auto& report = entry.status.report;
  report.result = run::RunResult::start_failed;
  report.end_message = error.message;
  report.end = base::Moment::now();
  report.state = run::State::ended;
  const auto directory = entry.status.control_group_id;
  if (entry.start_reply)
    std::exchange(entry.start_reply, {})(tl::unexpected(fault_of_start(entry, error)));
  if (server_ != nullptr) server_->publish(entry.status);
  conclude(entry);
  if (directory != 0)
    janitor_.remove(root_->runs().fd(), place, directory);  // its report is stored
}

run::Fault Service::fault_of_start(const Entry& entry, const Error& error) {
  const bool undelegated = is_undelegated(error.code) && entry.status.control_group_id == 0;
  const auto message = fmt::format("start run \"{}\": {}", entry.id.text(), error.message);
  if (!undelegated) return {run::FaultKind::start_failed, message};
  return {run::FaultKind::containment_unavailable,
          message + "; delegate the cgroup to this service (Delegate=yes), or run it as root"};
}

}  // namespace corral::daemon
