#include "daemon/active_run.h"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <utility>

#include "base/log.h"
#include "cgroup/mount.h"
#include "cgroup/proc_stat.h"

namespace corral::daemon {
namespace {

struct Reset {
  bool& flag;
  ~Reset() { flag = false; }
};

}  // namespace

run::Status initial_status(const run::Record& record) {
  run::Status status;
  status.report.id = record.id.text();
  status.report.invocation = record.invocation.text();
  status.report.owner = record.owner;
  status.report.owner_uid = record.owner_uid;
  status.report.token = record.token;
  status.report.containment = record.containment;
  status.report.kind = record.kind;
  status.report.enforcement = record.policy.enforcement;
  if (record.kind == run::Kind::kept) {
    status.report.driver_exit = run::DriverExit::unknown;
    status.report.unknown_reason =
        "the run has no driver: its processes were kept from another one";
  }
  status.report.start = record.start;
  status.description = record.description;
  status.labels = record.labels;
  status.policy = record.policy;
  status.control_group_id = record.cgroup_id;
  return status;
}

ActiveRun::ActiveRun(Surroundings around, RunObserver& observer, run::Record record,
                     std::string place, run::Status& status)
    : around_(around),
      observer_(observer),
      record_(std::move(record)),
      directory_(around.root.directory(std::move(place), record_.cgroup_id)),
      status_(status),
      grace_(record_.policy.grace) {
  status_.control_group = path();
}

void ActiveRun::raise(run::Event event) {
  events_.push_back(event);
  drain();
}

// One event at a time, its actions in order. An action that has to wait for the kernel stops the
// queue until it has its answer.
void ActiveRun::drain() {
  if (draining_) return;
  draining_ = true;
  const Reset reset{draining_};  // also where an action throws
  while (!when_frozen_) {
    if (!actions_.empty()) {
      const auto action = actions_.front();
      actions_.pop_front();
      perform(action);
    } else if (!events_.empty()) {
      const auto event = events_.front();
      events_.pop_front();
      apply(event);
    } else {
      break;
    }
  }
}

void ActiveRun::apply(run::Event event) {
  const auto transition = run::next(phase_, event, verdict());
  if (transition.to != phase_) enter(transition.to);
  actions_.insert(actions_.end(), transition.actions.begin(), transition.actions.end());
}

void ActiveRun::enter(run::Phase phase) {
  const auto before = run::state_of(phase_);
  phase_ = phase;
  settle_.reset();
  if (phase == run::Phase::closing) {
    half_grace_.reset();
    grace_over_.reset();
    proof_.reset();
  }
  if (phase == run::Phase::settling) begin_end(run::EndReason::driver_exited);
  if (phase != run::Phase::running)
    answer_frozen(run::fault(run::FaultKind::run_busy, "the run is ending"));
  // `ended` is said by finish(), when the report is final; `holding` when its leaks are counted;
  // `running` with run_started(): a signal of it now would overtake the reply to StartRun.
  const bool said_later =
      phase == run::Phase::running || phase == run::Phase::holding || phase == run::Phase::ended;
  if (phase == run::Phase::running || !said_later) status_.report.state = run::state_of(phase);
  if (run::state_of(phase) != before && !said_later) observer_.run_changed(*this);
}

void ActiveRun::announce_start() {
  observer_.run_started(*this);
  arm_deadline();
  arm_lease();
}

void ActiveRun::perform(run::Action action) {
  using Act = void (ActiveRun::*)();
  // In the order of the enumerators.
  static constexpr std::array<Act, run::kActions> kActs = {
      &ActiveRun::announce_start, &ActiveRun::start_settle, &ActiveRun::start_grace,
      &ActiveRun::shorten_grace,  &ActiveRun::ask_driver,   &ActiveRun::ask_others,
      &ActiveRun::ask_all_frozen, &ActiveRun::hold_frozen,  &ActiveRun::hold,
      &ActiveRun::look_on,        &ActiveRun::stand_down,   &ActiveRun::start_hold,
      &ActiveRun::final_snapshot, &ActiveRun::kill,         &ActiveRun::walk,
      &ActiveRun::note_escape,    &ActiveRun::close,        &ActiveRun::finish};
  static_assert(kActs.back() != nullptr);
  (this->*kActs.at(static_cast<size_t>(action)))();
}

void ActiveRun::go_on() {
  if (phase_ == run::Phase::running) {
    arm_deadline();
    arm_lease();
  }
  if (phase_ == run::Phase::holding) {
    // Whoever it held is looked at again.
    if (verdict() == run::Verdict::observe) actions_.push_back(run::Action::look_on);
    events_.push_back(run::Event::switched);
  }
  if (phase_ == run::Phase::asking && !driver_) events_.push_back(run::Event::driver_exited);
  if (phase_ == run::Phase::terminating) observer_.end_nested(*this, grace_left());
  drain();
  look();
}

void ActiveRun::born(Result<Born> outcome) {
  spawning_ = false;
  const auto known = outcome ? know(std::move(*outcome)) : Result<void>(outcome.error());
  if (!known) {
    status_.report.result = run::RunResult::start_failed;
    if (status_.report.end_message.empty()) status_.report.end_message = known.error().message;
  }
  raise(known ? run::Event::executed : run::Event::start_failed);
  // Only now: the caller has its answer the sooner, and what came before it is looked for.
  if (phase_ != run::Phase::closing && phase_ != run::Phase::ended) watch_work();
  look();
}

// A driver whose exit could not be waited for is one that could not be started.
Result<void> ActiveRun::know(Born born) try {
  const pid_t pid = born.driver.pid();
  know(pid, pid, pid, static_cast<pid_t>(born.supervisor_pid));  // it leads a session of its own
  watch_driver(std::move(born.driver));
  status_.driver_pid = static_cast<uint32_t>(pid);
  return {};
} catch (const std::exception& error) {
  return Error{fmt::format("watch the driver: {}", error.what()), 0};
}

void ActiveRun::know(pid_t driver, std::optional<pid_t> session, std::optional<pid_t> group,
                     std::optional<pid_t> supervisor) {
  lineage_ = {
      .driver = driver, .driver_sid = session, .driver_pgid = group, .supervisor = supervisor};
}

void ActiveRun::know_by(pid_t driver, pid_t like, std::optional<pid_t> supervisor) {
  const auto stat = cgroup::read_stat(like);
  know(driver, stat ? std::optional(stat->session) : std::nullopt,
       stat ? std::optional(stat->pgrp) : std::nullopt, supervisor);
}

void ActiveRun::watch_driver(std::optional<cgroup::Pidfd> driver) {
  driver_.emplace(around_.loop, around_.watcher, around_.store, around_.config.exit_record,
                  directory_, record_.invocation, std::move(driver),
                  [this](Departure departure) { departed(std::move(departure)); });
}

void ActiveRun::departed(Departure departure) {
  auto& report = status_.report;
  report.driver_exit = departure.exit.exit;
  report.driver_status = departure.exit.status;
  report.driver_exited = departure.exit.when;
  report.unknown_reason = std::move(departure.unknown_reason);
  if (is_adopted() && !report.unknown_reason.empty())
    report.unknown_reason = "the driver was adopted: its exit status is its parent's to see";
  if (departure.exit.exit != run::DriverExit::unknown)
    report.wall_usec =
        static_cast<uint64_t>(base::between(report.start, report.driver_exited).count());
  status_.driver_pid = 0;
  observer_.run_departed(*this);
  raise(run::Event::driver_exited);
  look();
}

void ActiveRun::end(EndRequest request) {
  if (request.grace) grace_ = std::min(grace_, *request.grace);
  const bool held = phase_ == run::Phase::holding;
  if (phase_ == run::Phase::starting || phase_ == run::Phase::running || held) {
    if (request.grace) grace_ = *request.grace;  // the first to ask may lengthen it
    // One that was asked for and only looked on keeps its reason, and so whose it was.
    if (!asked_ || request.reason == run::EndReason::requested) {
      status_.report.end_message = std::move(request.message);
      status_.report.ended_by = std::move(request.by);
    }
    begin_end(request.reason);
  }
  asked_ = true;
  overruled_ = overruled_ || request.reason == run::EndReason::parent_ended;
  raise(run::Event::end_requested);
  // Its proof had its time, and nothing wakes it: who asks only now is told who is stuck.
  if (killed_at_ && !reaping_ &&
      base::between(killed_at_, base::Moment::now()) >= around_.config.proof)
    raise(run::Event::proof_overdue);
  look();
}

void ActiveRun::begin_end(run::EndReason reason) {
  if (end_began_) return;
  end_began_ = base::Moment::now();
  status_.report.end_reason = reason;
}

void ActiveRun::watch_work() {
  watch_.reset();  // first: inotify gives a second watch of a file the number of the first
  auto work = directory_.open_work();
  auto watch = work ? around_.watcher.watch_events(*work, [this] { look(); })
                    : Result<Watcher::Watch>(work.error());
  if (watch) {
    watch_ = std::move(*watch);
  } else if (!cgroup::is_gone(watch.error())) {
    log(Level::error, "run {}: {}; its end is noticed late", record_.id.text(),
        watch.error().message);
  }
}

void ActiveRun::watch_whole() {
  auto whole = directory_.open();
  auto watch = whole ? around_.watcher.watch_events(*whole, [this] { look(); })
                     : Result<Watcher::Watch>(whole.error());
  watch_.reset();
  if (watch) watch_ = std::move(*watch);
}

void ActiveRun::look() {
  if (when_frozen_) return look_whether_frozen();
  if (phase_ == run::Phase::ended) return;
  if (phase_ == run::Phase::closing) return look_at_whole();
  if (setting_) look_whether_set();
  look_at_work();
}

void ActiveRun::look_at_work() {
  if (spawning_) return;  // who is not born yet cannot be missed
  auto work = directory_.open_work();
  const auto events = work ? work->events() : Result<cgroup::Events>(work.error());
  if (events && events->populated) return;
  if (observer_.holds_runs(*this)) return;
  if (!events && !cgroup::is_gone(events.error()))
    return log(Level::error, "run {}: {}", record_.id.text(), events.error().message);
  if (!driver_ || driver_->departed()) {
    raise(run::Event::emptied);
  } else if (driver_sits_elsewhere()) {
    raise(run::Event::moved_away);
  }
}

void ActiveRun::look_at_whole() {
  if (!let_go_) return;  // the report is not complete
  auto whole = directory_.open();
  const auto events = whole ? whole->events() : Result<cgroup::Events>(whole.error());
  if (events ? !events->populated : cgroup::is_gone(events.error())) raise(run::Event::all_gone);
}

// A driver on its way out leaves work/ empty a moment before its pidfd says so; its path stays what
// it was.
bool ActiveRun::driver_sits_elsewhere() const {
  const cgroup::Pidfd* driver = driver_->driver();
  if (driver == nullptr) return false;
  const auto where = cgroup::path_of(driver->pid());
  if (!where || driver->exited()) return false;
  return !is_in_work(*where);
}

bool ActiveRun::is_in_work(const std::string& where) const {
  return where == work_path() || where.starts_with(work_path() + "/");
}

std::vector<run::Process> ActiveRun::processes() const {
  auto work = directory_.open_work();
  if (!work) return {};
  auto members = cgroup::members(*work);
  if (!members) return {};
  return cgroup::look(*members, work_path(), lineage_);
}

uint32_t ActiveRun::count() const {
  auto work = directory_.open_work();
  if (!work) return 0;
  return static_cast<uint32_t>(cgroup::count(*work).value_or(0));
}

Result<void> ActiveRun::signal_driver(int number) {
  const cgroup::Pidfd* driver = driver_ ? driver_->driver() : nullptr;
  if (driver == nullptr || driver_sits_elsewhere()) return failed(ESRCH, "signal the driver");
  return driver->signal(number);
}

Result<void> ActiveRun::signal_everyone(int number) {
  auto work = directory_.open_work();
  if (!work) return work.error();
  if (number == SIGKILL) return cgroup::kill(*work);
  auto signalled = cgroup::signal_all(*work, number);
  if (!signalled) return signalled.error();
  return {};
}

}  // namespace corral::daemon
