#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

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
  if (root_) return &*root_;
  auto root = Root::open(settings_.cgroup_root);
  if (!root) return root.error();
  root_.emplace(std::move(*root));
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
  const Seat seat = seat_of(caller, *root);
  if (!seat.known)
    return run::Fault{
        FaultKind::access_denied,
        fmt::format("start run \"{}\": find out whether the caller is inside a run: {}", id.text(),
                    seat.why_not)};
  if (seat.run)
    return run::Fault{
        FaultKind::not_supported,
        fmt::format("start run \"{}\": the caller is inside run \"{}\", and runs inside "
                    "runs are not supported yet; ask from outside",
                    id.text(), seat.run->id.text())};
  return std::nullopt;
}

void Service::start_run(const dbus::Caller& caller, run::Spec spec,
                        dbus::Reply<dbus::RunName> reply) {
  Entry* known = registry_.newest(spec.id);
  // Asked before what may be refused: a repeated request gets the answer of the first.
  if (known != nullptr && !spec.token.empty() && known->status.report.token == spec.token &&
      known->status.report.owner_uid == caller.uid)
    return reply(dbus::RunName{known->id, known->invocation});
  if (auto refused = refuse_start(caller, spec.id))
    return reply(run::Answer<dbus::RunName>(tl::unexpect, *refused));
  if (known != nullptr && !known->ended())
    return reply(run::fault(
        run::FaultKind::run_exists,
        fmt::format(
            "start run \"{}\": it is {} as invocation {}; end it first, or choose another id",
            spec.id.text(), run::word(known->status.report.state), known->invocation.text())));

  auto record = make_record(spec, caller.uid, boot_id_, containment_of(*root_));
  auto made = std::make_unique<Entry>(loop_, record.id, record.invocation);
  made->status = initial_status(record);
  made->start_reply = std::move(reply);
  Entry& entry = registry_.add(std::move(made));
  auto started = begin(entry, std::move(record), spec);
  if (!started && entry.run) return entry.run->born(started.error());  // something may live already
  if (!started) return fail_start(entry, started.error());
  if (server_ == nullptr) return;
  server_->publish(entry.status);  // while the spawner works
  server_->manager_changed({"Runs"});
}

// A library that throws (no memory, no fd for the loop) fails this start like any other step.
Result<void> Service::begin(Entry& entry, run::Record record, const run::Spec& spec) try {
  auto groups = prepare(entry, record);
  if (!groups) return groups.error();
  entry.run = std::make_unique<ActiveRun>(surroundings(), *this, std::move(record), entry.status);
  entry.run->watch_work(groups->work);
  return launch(entry, *groups, spec);
} catch (const std::exception& error) {
  return Error{error.what(), 0};
}

// mkdir <run>, record, stub, init/ and work/: in this order, so that whatever is found of a start
// that was cut off says what it is.
Result<Service::Groups> Service::prepare(Entry& entry, run::Record& record) {
  auto directory = root_->create(run::directory_name(entry.id, entry.invocation));
  if (!directory) return directory.error();
  record.cgroup_id = directory->id();
  entry.status.control_group_id = record.cgroup_id;
  if (auto written = cgroup::write_record(*directory, run::kRecordXattr, run::to_json(record));
      !written)
    return written.error();
  const run::Stub stub{.id = entry.id,
                       .invocation = entry.invocation,
                       .owner = record.owner,
                       .owner_uid = record.owner_uid,
                       .token = record.token,
                       .boot_id = record.boot_id,
                       .cgroup_id = record.cgroup_id,
                       .start = record.start};
  if (auto written = store_.write_stub(stub); !written) return written.error();
  auto init = cgroup::Group::create(directory->fd(), "init");
  if (!init) return init.error();
  auto work = cgroup::Group::create(directory->fd(), "work");
  if (!work) return work.error();
  return Groups{std::move(*directory), std::move(*init), std::move(*work)};
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
void Service::fail_start(Entry& entry, const Error& error) {
  auto& report = entry.status.report;
  report.result = run::RunResult::start_failed;
  report.end_message = error.message;
  report.end = base::Moment::now();
  report.state = run::State::ended;
  auto parent = base::open_at(root_->runs().fd(), ".", O_RDONLY | O_DIRECTORY);
  if (parent && entry.status.control_group_id != 0)
    janitor_.remove(std::move(*parent), run::directory_name(entry.id, entry.invocation),
                    entry.status.control_group_id);
  const bool undelegated = is_undelegated(error.code) && entry.status.control_group_id == 0;
  if (undelegated && entry.start_reply)
    std::exchange(entry.start_reply,
                  {})(run::fault(run::FaultKind::containment_unavailable,
                                 fmt::format("start run \"{}\": {}; delegate the cgroup to this "
                                             "service (Delegate=yes), or run it as root",
                                             entry.id.text(), error.message)));
  if (server_ != nullptr) server_->publish(entry.status);
  conclude(entry);
}

}  // namespace corral::daemon
