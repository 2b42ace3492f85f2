#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "base/log.h"
#include "cgroup/record.h"
#include "daemon/adopting.h"
#include "daemon/callers.h"
#include "daemon/service.h"

namespace corral::daemon {
namespace {

using run::FaultKind;

// Each round takes what was forked during the last one; a tree that outruns them is not waited for.
constexpr int kRounds = 16;

}  // namespace

void Service::adopt_processes(const dbus::Caller& caller, run::Spec spec,
                              std::vector<uint32_t> pids, dbus::Reply<dbus::RunName> reply) {
  auto made = std::make_unique<Adopting>(
      Adopting{.caller = caller,
               .caller_pidfd = UniqueFd(fcntl(caller.pidfd, F_DUPFD_CLOEXEC, 0)),
               .spec = std::move(spec),
               .candidates = {},
               .reply = std::move(reply)});
  made->caller.pidfd = made->caller_pidfd.get();
  const auto refuse = [&](const run::Fault& fault) { made->reply(tl::unexpected(fault)); };
  if (!same_pid_namespace(caller))
    return refuse(made->fault(FaultKind::not_supported,
                              "the caller lives in another pid "
                              "namespace"));
  for (const uint32_t number : pids) {
    const auto pid = static_cast<pid_t>(number);
    auto process = cgroup::Pidfd::open(pid);
    const auto start = process ? cgroup::start_time(pid) : std::nullopt;
    if (!start || process->exited())
      return refuse(made->fault(FaultKind::pid_unknown, pid, "is no process, or has exited"));
    made->candidates.push_back({std::move(*process), *start});
  }
  const auto which = adoptions_.insert(adoptions_.end(), std::move(made));
  (*which)->request =
      survey_.ask([this, which](cgroup::Kinship* pass) { return adopt(which, pass); });
}

// True: with this pass all is done.
bool Service::adopt(Adoptings::iterator which, cgroup::Kinship* pass) {
  Adopting& adopting = **which;
  if (!adopting.adoption) {
    const auto fault = pass != nullptr
                           ? begin_adoption(adopting, *pass)
                           : std::optional(adopting.fault(FaultKind::containment_unavailable,
                                                          "/proc cannot be read"));
    if (fault) adopting.reply(tl::unexpected(*fault));
    if (!adopting.adoption) adoptions_.erase(which);
    if (fault || !adopting.adoption) return true;
  }
  const size_t taken = pass != nullptr ? adopting.adoption->take_descendants(*pass) : 0;
  if (taken > 0 && ++adopting.rounds < kRounds) {
    adopting.request =
        survey_.ask([this, which](cgroup::Kinship* next) { return adopt(which, next); });
    return true;
  }
  adopting.adoption->keep();
  Entry* entry = registry_.of(*adopting.invocation);
  if (entry != nullptr && entry->run)  // else it was ended meanwhile
    entry->run->take_over(std::move(adopting.candidates.front().process));
  adoptions_.erase(which);
  return true;
}

// Nothing and no adoption: the same was asked before, and is answered.
std::optional<run::Fault> Service::begin_adoption(Adopting& adopting, cgroup::Kinship& pass) {
  auto admitted = admit(adopting.caller, adopting.spec);
  if (!admitted) return admitted.error();
  if (Entry** known = std::get_if<Entry*>(&*admitted)) {
    adopting.reply(dbus::RunName{(*known)->id, (*known)->invocation});
    return std::nullopt;
  }
  auto& [made, record, place] = std::get<Beginning>(*admitted);
  const Entry* parent =
      made->status.parent ? registry_.of(made->status.parent->invocation) : nullptr;
  if (auto refused = refuse_adoption(adopting, parent, pass)) return refused;
  record.containment = run::Containment::adopted;
  made->status.report.containment = record.containment;
  Entry& entry = registry_.add(std::move(made));
  adopting.invocation = entry.invocation;
  auto begun = begin_adopted(adopting, entry, std::move(record), place, pass);
  if (!begun) {
    const auto why = forget(entry, place, begun.error());
    const bool gone = why.code == ESRCH;
    return adopting.fault(gone ? FaultKind::pid_unknown : FaultKind::containment_unavailable,
                          why.message);
  }
  entry.start_reply = std::move(adopting.reply);
  if (server_ != nullptr) {
    server_->publish(entry.status);
    server_->manager_changed({"Runs"});
  }
  return std::nullopt;
}

// Whoever finds the run after us must find its driver: the record is written first.
Result<void> Service::begin_adopted(Adopting& adopting, Entry& entry, run::Record record,
                                    const std::string& place, cgroup::Kinship& pass) try {
  auto whole = prepare(entry, record, place);
  if (!whole) return whole.error();
  auto work = cgroup::Group::create(whole->fd(), "work");
  if (!work) return work.error();
  const run::Members members{.driver = adopting.candidates.front().name(), .supervisor = {}};
  auto written = cgroup::write_record(*whole, run::kDriverXattr, run::to_json(members));
  if (!written) return written;
  const Entry* parent = registry_.parent_of(entry);
  const Adoption::Limits limits{
      .runs = root_->path(),
      .from = parent != nullptr ? root_->path_of(parent->run->place()) : "",
      .uid = adopting.caller.uid};
  auto adoption = std::make_unique<Adoption>(std::move(*work), limits);
  for (const auto& candidate : adopting.candidates) {
    auto process = cgroup::Pidfd::open(candidate.process.pid(), candidate.start_time);
    if (!process) return process.error();
    auto taken = adoption->take(std::move(*process),
                                pass.find_or_read(candidate.process.pid())->control_group);
    if (!taken) return taken;
  }
  entry.run =
      std::make_unique<ActiveRun>(surroundings(), *this, std::move(record), place, entry.status);
  adopting.adoption = std::move(adoption);
  return {};
} catch (const std::exception& error) {
  return Error{error.what(), 0};
}

std::optional<run::Fault> Service::refuse_adoption(const Adopting& adopting, const Entry* parent,
                                                   cgroup::Kinship& pass) {
  const auto spared = guarded(pass);
  for (const auto& [process, start_time] : adopting.candidates) {
    const pid_t pid = process.pid();
    const cgroup::Kin* kin = pass.find_or_read(pid);
    if (kin == nullptr || kin->start_time != start_time || process.exited())
      return adopting.fault(FaultKind::pid_unknown, pid, "has exited");
    if (adopting.caller.uid != 0 && kin->uid != adopting.caller.uid)
      return adopting.fault(FaultKind::access_denied, pid,
                            fmt::format("is uid {}'s, and the caller is uid {}; ask as root",
                                        kin->uid, adopting.caller.uid));
    if (const auto found = spared.find(pid); found != spared.end())
      return adopting.fault(FaultKind::invalid_args, pid, "is " + found->second);
    const auto seat = root_->run_of(pid);
    if (!seat) return adopting.fault(FaultKind::pid_unknown, pid, "has exited");
    if (!*seat) continue;
    const bool in_parent = parent != nullptr && (*seat)->invocation == parent->invocation;
    if (in_parent && parent->status.driver_pid != static_cast<uint32_t>(pid)) continue;
    return adopting.fault(FaultKind::run_busy, pid,
                          fmt::format("is {} run \"{}\"; end that, or release it from there",
                                      in_parent ? "the driver of" : "in", (*seat)->id.text()));
  }
  return std::nullopt;
}

// What the service stands on, and what that descends from: moved, it would die with the run.
std::map<pid_t, std::string> Service::guarded(cgroup::Kinship& pass) {
  std::map<pid_t, std::string> own = {{1, "pid 1"}, {getpid(), "the service"}};
  if (const auto spawner = spawner_.pid()) own.emplace(*spawner, "the spawner");
  for (const pid_t keeper : root_->keepers()) own.emplace(keeper, "the keeper");
  for (const Entry* entry : registry_.all()) {
    const auto supervisor = entry->run ? entry->run->supervisor() : std::nullopt;
    if (supervisor.value_or(0) != 0)
      own.emplace(*supervisor, fmt::format("the supervisor of run \"{}\"", entry->id.text()));
  }
  auto all = own;
  for (const auto& [pid, what] : own)
    for (const auto& above : pass.ancestors(pid)) all.emplace(above.pid, "an ancestor of " + what);
  return all;
}

}  // namespace corral::daemon
