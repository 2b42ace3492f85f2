#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include <fcntl.h>

#include "base/file.h"
#include "base/log.h"
#include "cgroup/mount.h"
#include "cgroup/usage.h"
#include "daemon/active_run.h"
#include "daemon/constants.h"
#include "daemon/due.h"
#include "daemon/snapshot.h"

namespace corral::daemon {
namespace {

// A signal to all of a tree that is worth a line in the log and no more when it fails: the kill
// does not depend on it.
void ask(const cgroup::Group& work, int number, pid_t except) {
  for (const int signal : {number, SIGCONT}) {
    auto asked = cgroup::signal_all(work, signal, except);
    if (!asked) log(Level::warning, "{}", asked.error().message);
  }
}

}  // namespace

void ActiveRun::start_settle() {
  settle_ = around_.loop.after(status_.policy.settle, [this] { raise(run::Event::settle_over); });
}

void ActiveRun::start_grace() {
  kill_at_usec_ = base::Moment::now().monotonic_usec + static_cast<uint64_t>(grace_.count());
  save_ending(false);
  arm_grace();
}

void ActiveRun::arm_grace() {
  const auto left = grace_left();
  half_grace_ =
      around_.loop.after(left - grace_ / 2, [this] { raise(run::Event::half_grace_over); });
  grace_over_ = around_.loop.after(left, [this] { raise(run::Event::grace_over); });
}

std::chrono::microseconds ActiveRun::grace_left() const {
  return left_until(kill_at_usec_.value_or(0));
}

// Grace was already made no longer than what the joining request asked.
void ActiveRun::shorten_grace() {
  if (!kill_at_usec_) return;
  const uint64_t sooner =
      base::Moment::now().monotonic_usec + static_cast<uint64_t>(grace_.count());
  if (sooner >= *kill_at_usec_) return;
  kill_at_usec_ = sooner;
  arm_grace();
}

// A look that failed costs the report its rows and its exactness, never the end.
std::vector<run::Process> ActiveRun::rows_of(Result<std::vector<run::Process>> looked) {
  if (looked) return std::move(*looked);
  if (cgroup::is_gone(looked.error())) return {};
  log(Level::warning, "run {}: look at its processes: {}", record_.id.text(),
      looked.error().message);
  status_.report.snapshot_exact = false;
  return {};
}

pid_t ActiveRun::live_driver() const {
  const cgroup::Pidfd* driver = driver_ ? driver_->driver() : nullptr;
  return driver != nullptr ? driver->pid() : 0;
}

void ActiveRun::ask_driver() {
  if (!driver_ || driver_->departed()) return raise(run::Event::driver_exited);
  if (!std::exchange(driver_asked_, true)) {
    for (const int number : {status_.policy.term_signal, SIGCONT})
      (void)signal_driver(number);  // may be gone already
  }
  thawed();
}

void ActiveRun::ask_others() {
  leaks_.asked(observer_.nested_processes(*this));
  observer_.end_nested(*this, grace_left());
  spare();
  auto work = directory_.open_work();
  if (!work) return;
  if (all_asked_) return thawed();  // by an end that stood down
  leaks_.asked(snapshot_work(*work, live_driver()));
  save_ending(true);
  ask(*work, SIGTERM, live_driver());
  thawed();
  count_leaks();
  look();
}

void ActiveRun::ask_all_frozen() {
  leaks_.asked(observer_.nested_processes(*this));
  observer_.end_nested(*this, grace_left());
  freeze_then([this](const cgroup::Group& work) {
    spare();
    leaks_.asked(snapshot_work(work, 0));
    save_ending(true);
    ask(work, SIGTERM, 0);
    freeze_.reset();
    thawed();
    count_leaks();
  });
}

void ActiveRun::final_snapshot() {
  freeze_then([this](const cgroup::Group& work) {
    spare();
    leaks_.condemned(snapshot_work(work, live_driver()));
    leaks_.condemned(observer_.nested_processes(*this));
    count_leaks();
  });
}

void ActiveRun::kill() {
  observer_.end_nested(*this, std::chrono::microseconds{0});
  auto work = directory_.open_work();
  const auto killed = work ? cgroup::kill(*work) : Result<void>(work.error());
  if (!killed && !cgroup::is_gone(killed.error()))
    log(Level::error, "run {}: {}", record_.id.text(), killed.error().message);
  freeze_.reset();         // only now: nobody ran between the snapshot and the kill
  status_.frozen = false;  // the dead are thawed
  killed_at_ = base::Moment::now();
  arm_proof();
  look();
}

// First for the walk, then for the report of who is stuck. Later only the kernel's word is waited
// for, unless it could not be asked for (no inotify watch was to be had).
void ActiveRun::arm_proof() {
  const auto since = base::between(killed_at_, base::Moment::now());
  const auto next = since < kWalkAfter             ? kWalkAfter - since
                    : since < around_.config.proof ? around_.config.proof - since
                                                   : around_.config.proof;
  proof_ = around_.loop.after(next, [this] { raise(run::Event::proof_overdue); });
}

void ActiveRun::walk() {
  const bool whole = phase_ == run::Phase::closing;
  auto group = whole ? directory_.open() : directory_.open_work();
  if (!group) {
    if (!cgroup::is_gone(group.error())) arm_proof();  // no fd to be had, say: again
    return look();
  }
  auto walked = cgroup::kill_by_walk(*group);
  if (!walked) log(Level::error, "run {}: {}", record_.id.text(), walked.error().message);
  const bool in_time = base::between(killed_at_, base::Moment::now()) < around_.config.proof;
  if (!in_time) name_stuck(*group, whole ? path() : work_path());
  if (in_time || !watch_) arm_proof();
  look();
}

void ActiveRun::name_stuck(const cgroup::Group& group, const std::string& path) {
  auto stuck = rows_of(snapshot_stuck(group, path, lineage_));
  if (stuck.empty()) return;
  leaks_.stuck(std::move(stuck), live_driver());
  count_leaks();
  log(Level::error, "run {}: {} processes are still there {} ms after the kill", record_.id.text(),
      status_.report.stuck, around_.config.proof / 1ms);
  observer_.run_stuck(*this);
}

void ActiveRun::note_escape() {
  begin_end(run::EndReason::driver_exited);
  const cgroup::Pidfd* driver = driver_->driver();
  if (driver == nullptr) return;
  const std::vector<cgroup::Member> self = {{driver->pid(), ""}};
  const auto where = cgroup::path_of(driver->pid());
  for (auto& process : cgroup::look(self, where.value_or(""), lineage_)) {
    cgroup::describe(process);
    process.rule = "left its run";
    leaks_.escaped(std::move(process));
  }
  status_.report.driver_exit = run::DriverExit::unknown;
  status_.report.unknown_reason =
      fmt::format("the driver left its run and sits in {}", where.value_or("?"));
  driver_.reset();
  status_.driver_pid = 0;
  count_leaks();
}

// work/ is empty and stays so: counters first, then who left it, then whoever hides elsewhere in
// the directory, then all of it. Where nobody hides, the supervisor is asked to leave, and reaps
// what died last before it does; killed, it would leave that to pid 1, which in a container may be
// no reaper.
void ActiveRun::close() {
  read_counters();
  if (!is_opened()) supervisor_ = open_supervisor(directory_);  // else it lives elsewhere
  watch_whole();
  search_escapes();
}

void ActiveRun::let_go() {
  let_go_ = true;
  // One whose driver's exit is not known waits for it: the driver sits elsewhere.
  const bool unknown = status_.report.driver_exit == run::DriverExit::unknown;
  if (note_strangers() || !supervisor_ || unknown) return kill_whole();
  (void)supervisor_->signal(SIGTERM);  // may be gone already
  reaping_ = around_.loop.after(around_.config.reap, [this] { kill_whole(); });
  look();
}

void ActiveRun::read_counters() {
  auto& report = status_.report;
  const auto work = directory_.open_work();
  if (!work) return;
  const auto usage = cgroup::read_usage(*work);
  report.cpu_usec = usage.cpu_usec;
  report.memory_peak = usage.memory_peak;
  report.oom_kills = usage.oom_kills;
  report.peak_descendants = usage.pids_peak;
  report.io_read_bytes = usage.io_read_bytes;
  report.io_write_bytes = usage.io_write_bytes;
}

bool ActiveRun::note_strangers() {
  const auto whole = directory_.open();
  if (!whole) return false;
  auto rows =
      rows_of(snapshot(*whole, path(), lineage_, {supervisor_ ? supervisor_->pid() : pid_t{0}}));
  if (rows.empty()) return false;
  leaks_.strangers(std::move(rows));
  count_leaks();
  return true;
}

void ActiveRun::kill_whole() {
  reaping_.reset();
  (void)note_strangers();
  const auto whole = directory_.open();
  const auto killed = whole ? cgroup::kill(*whole) : Result<void>(whole.error());
  if (!killed && !cgroup::is_gone(killed.error()))
    log(Level::error, "run {}: {}", record_.id.text(), killed.error().message);
  killed_at_ = base::Moment::now();
  arm_proof();
  look();
}

void ActiveRun::finish() {
  proof_.reset();
  reaping_.reset();
  opener_exited_.reset();
  opener_.reset();
  leases_.clear();
  status_.leases.clear();
  leaks_.nobody_stuck();
  leaks_.nobody_held();
  leaks_.kept(observer_.spared_by(*this), "Parent \"\"");
  watch_.reset();  // before rmdir
  // This reaches one that a driver moved out of init/.
  if (supervisor_) (void)supervisor_->signal(SIGKILL);  // gone, as a rule
  supervisor_.reset();
  auto& report = status_.report;
  report.end = base::Moment::now();
  report.state = run::State::ended;
  if (end_began_)
    report.time_to_empty_usec =
        static_cast<uint64_t>(base::between(end_began_, report.end).count());
  if (report.result == run::RunResult::none)
    report.result =
        run::result_of(report.driver_exit, report.driver_status, report.oom_kills.value_or(0) > 0);
  if (report.result == run::RunResult::none) report.result = run::RunResult::start_failed;
  leaks_.write_to(report);
  status_.control_group.clear();
  status_.driver_pid = 0;
  observer_.run_ended(*this);
  // Only now is its report stored: without either, the service after us would call it lost.
  around_.janitor.remove(around_.root.runs().fd(), directory_.place(), directory_.id());
}

void ActiveRun::count_leaks() {
  const auto before = status_.report.leaks_found;
  leaks_.write_to(status_.report);
  if (status_.report.leaks_found != before) observer_.run_leaked(*this);
}

// For the service after us: it goes on with this end and asks nobody twice.
void ActiveRun::save_ending(bool all_asked) {
  all_asked_ = all_asked_ || all_asked;
  const run::Ending ending{.reason = status_.report.end_reason,
                           .message = status_.report.end_message,
                           .ended_by = status_.report.ended_by,
                           .asked = asked_,
                           .holding = phase_ == run::Phase::holding,
                           .all_asked = all_asked_,
                           .began = end_began_,
                           .kill_at_usec = kill_at_usec_.value_or(0),
                           .hold_until_usec = hold_until_usec_.value_or(0)};
  const auto saved = directory_.write_record(run::kEndXattr, run::to_json(ending));
  if (!saved)
    log(Level::warning, "run {}: record its end: {}", record_.id.text(), saved.error().message);
}

void ActiveRun::freeze_then(base::Callback<void(const cgroup::Group& work)> then) {
  when_frozen_ = std::move(then);
  auto work = directory_.open_work();
  auto freeze = work ? cgroup::Freeze::begin(*work) : Result<cgroup::Freeze>(work.error());
  if (!freeze) {
    if (!cgroup::is_gone(freeze.error()))
      log(Level::warning, "run {}: {}", record_.id.text(), freeze.error().message);
    return frozen(false);
  }
  freeze_.emplace(std::move(*freeze));
  freeze_bound_ = around_.loop.after(around_.config.freeze, [this] { frozen(false); });
  look_whether_frozen();
}

void ActiveRun::look_whether_frozen() {
  auto work = directory_.open_work();
  const auto events = work ? work->events() : Result<cgroup::Events>(work.error());
  if (!events || events->frozen || !events->populated) frozen(events && events->frozen);
}

void ActiveRun::frozen(bool exact) {
  freeze_bound_.reset();
  auto then = std::exchange(when_frozen_, {});
  status_.report.snapshot_exact = exact && (leaks_.size() == 0 || status_.report.snapshot_exact);
  if (auto work = directory_.open_work()) then(*work);
  drain();
  look();
}

}  // namespace corral::daemon
