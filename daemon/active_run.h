#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/callback.h"
#include "cgroup/control.h"
#include "cgroup/escapes.h"
#include "cgroup/janitor.h"
#include "cgroup/processes.h"
#include "daemon/config.h"
#include "daemon/driver_watch.h"
#include "daemon/leak_book.h"
#include "daemon/loop.h"
#include "daemon/root.h"
#include "daemon/spawner.h"
#include "daemon/store.h"
#include "daemon/survey.h"
#include "daemon/watcher.h"
#include "run/fault.h"
#include "run/record.h"
#include "run/state.h"
#include "run/status.h"

namespace corral::daemon {

// What a run lives among; all of it outlives the run.
struct Surroundings {
  Loop& loop;
  Watcher& watcher;
  Store& store;
  cgroup::Janitor& janitor;
  const Root& root;
  const Config& config;
  Survey& survey;
};

class ActiveRun;

// Who is told of a run's life. None of these may destroy the run before they return.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void run_started(ActiveRun& run) = 0;   // the driver executed
  virtual void run_departed(ActiveRun& run) = 0;  // the driver's exit is known
  virtual void run_leaked(ActiveRun& run) = 0;    // leaks were found, or more of them
  virtual void run_stuck(ActiveRun& run) = 0;     // killed, and still there past the bound
  virtual void run_changed(ActiveRun& run) = 0;   // its state, or what it says of itself
  virtual void run_held(ActiveRun& run) = 0;      // its processes are left in place, and counted
  virtual void run_ended(ActiveRun& run) = 0;     // nothing is left; once, last of all

  // Whether a run that is nested in it has not ended: then it does not end either.
  virtual bool holds_runs(const ActiveRun& run) = 0;
  // Whether nothing is to be done to it but to look on: by its own word, that of one that it is
  // nested in, or the service's. `overruled`: an end from above counts more than its own word.
  virtual bool observes(const ActiveRun& run, bool overruled) = 0;
  // Moves these of its processes to a new run of kind `kept`, by this rule. Fails where none could
  // be moved; the others are in the result.
  struct Kept {
    run::DirectoryName name;
    std::vector<run::Process> processes;
  };
  virtual Result<Kept> keep(const ActiveRun& run, std::vector<run::Process> processes,
                            const std::string& rule) = 0;
  // The processes of the runs in it, at whatever depth, as rows.
  virtual std::vector<run::Process> nested_processes(const ActiveRun& run) = 0;
  // Independent runs that were started from inside it and live: their drivers, as rows.
  virtual std::vector<run::Process> spared_by(const ActiveRun& run) = 0;
  // It is ending, and so are those nested in it, within this grace. May be said again.
  virtual void end_nested(ActiveRun& run, std::chrono::microseconds grace) = 0;
};

// What is said of a run before anything happened in it.
run::Status initial_status(const run::Record& record);

// A live run: the state table of run/state.h, acted out on the kernel. Events come in from the
// loop, one at a time; actions go out.
class ActiveRun {
 public:
  // `status` outlives the run: what is said of it stays when it has ended.
  // A run whose directory, record and stub are made at `place`, and whose driver was asked of the
  // spawner, or is to be attached.
  ActiveRun(Surroundings around, RunObserver& observer, run::Record record, std::string place,
            run::Status& status);
  // A run found by its directory and record: goes on where the service before us stopped.
  static std::unique_ptr<ActiveRun> recover(Surroundings around, RunObserver& observer,
                                            run::Record record, std::string place,
                                            run::Status& status);

  const run::Status& status() const { return status_; }
  bool starting() const { return phase_ == run::Phase::starting; }
  const run::Record& record() const { return record_; }
  const std::string& place() const { return directory_.place(); }
  // The parent that its driver was started by; nullopt where that is nobody of ours.
  std::optional<pid_t> supervisor() const { return lineage_.supervisor; }
  // The driver's pid; 0 before there is one, and once it has exited.
  pid_t live_driver() const;

  // Acts on what it was left with by recover(); the observer knows it by then.
  void go_on();

  // The spawner's answer.
  void born(Result<Born> outcome);
  // Ties the run to the process that opened it: from here on it ends with that process.
  void tie();
  // Takes a child of the opener as the driver: moves it into work/ unless it is there. A second
  // call with the same process does nothing.
  run::Answer<void> attach(pid_t pid);
  // How the attached driver went, by the opener's word. A second call does nothing.
  run::Answer<void> report_exit(run::DriverExit exit, int32_t status);
  // Looks at the kernel without being told to; cheap.
  void look();
  // A run that was nested in it has ended, with this report.
  void nested_ended(const run::Report& report);
  // What it left, without that of the runs in it.
  size_t own_leaks() const { return leaks_.own(); }

  struct EndRequest {
    std::optional<std::chrono::microseconds> grace;
    std::string message, by;
    run::EndReason reason = run::EndReason::requested;
  };
  void end(EndRequest request);

  // Enforcement may have changed: an end that only looked on goes on, one under way stands down.
  void switched();
  // Freezes or thaws work/; `done` is told once: when the kernel says so, or why it did not (thawed
  // again then). Only while running or holding.
  using Done = base::Callback<void(run::Answer<void>)>;
  void set_frozen(bool frozen, Done done);
  // Takes what it says of itself from `record`, and its deadline.
  Result<void> amend(run::Record record);
  // Takes or renews the lease; zero drops it.
  Result<void> renew_lease(std::chrono::microseconds ttl);
  // A lease that lasts until every copy of the fd is closed. `text` is for people.
  Result<UniqueFd> acquire_lease(std::string text);
  // Moves these of its processes to a run of their own.
  run::Answer<run::DirectoryName> release(const std::vector<uint32_t>& pids);
  // Whether the end of a run that it is nested in counts more than its own word.
  bool overruled() const { return overruled_; }
  // Its processes are in work/, and were not started for it: it runs from here on. Without a driver
  // it has none.
  void take_over(std::optional<cgroup::Pidfd> driver);

  Result<void> signal_driver(int number);
  Result<void> signal_everyone(int number);
  // The processes in work/, looked at now and not described yet (cgroup/processes.h).
  std::vector<run::Process> processes() const;
  uint32_t count() const;

 private:
  void raise(run::Event event);
  void drain();
  void apply(run::Event event);
  void perform(run::Action action);
  void enter(run::Phase phase);

  void announce_start();
  void start_settle();
  void start_grace();
  void arm_grace();
  void shorten_grace();
  void ask_driver();
  void ask_others();
  void ask_all_frozen();
  void hold_frozen();
  void hold();
  void look_on();
  void stand_down();
  void start_hold();
  void final_snapshot();
  void kill();
  void arm_proof();
  void walk();
  void note_escape();
  void close();
  void search_escapes();
  void let_go();
  void read_counters();
  // True when there were any.
  bool note_strangers();
  void kill_whole();
  void finish();

  run::Verdict verdict() const;
  void held(std::vector<run::Process> rows, run::Outcome outcome);
  void arm_hold();
  void arm_deadline();
  void arm_lease();
  void lease_closed(const UniqueFd* end);
  void lease_lost();
  void thawed();
  void spare();
  void answer_frozen(run::Answer<void> answer);
  void look_whether_set();

  Result<void> know(Born born);
  void know(pid_t driver, std::optional<pid_t> session, std::optional<pid_t> group,
            std::optional<pid_t> supervisor);
  // As know(), where the session and group of the driver are those of `like`.
  void know_by(pid_t driver, pid_t like, std::optional<pid_t> supervisor);
  bool is_opened() const { return record_.opener.pid != 0; }
  bool is_adopted() const { return record_.containment == run::Containment::adopted; }
  run::Answer<void> move_in(const cgroup::Pidfd& driver);
  void opener_gone();
  std::chrono::microseconds grace_left() const;
  // Notice from here on when it empties; what came before is to be looked for.
  void watch_work();
  void watch_whole();
  void watch_driver(std::optional<cgroup::Pidfd> driver);
  void departed(Departure departure);
  bool driver_sits_elsewhere() const;
  // Whether the path of a cgroup is that of work/, or below it.
  bool is_in_work(const std::string& where) const;
  void look_at_work();
  void look_at_whole();
  void begin_end(run::EndReason reason);
  void save_ending(bool all_asked);
  cgroup::Ties ties() const;
  // As snapshot(), with what failed in the report, and what is foreign marked.
  std::vector<run::Process> snapshot_work(const cgroup::Group& work, pid_t except);
  std::vector<run::Process> rows_of(Result<std::vector<run::Process>> looked);
  void count_leaks();
  void name_stuck(const cgroup::Group& group, const std::string& path);

  // Freezes work/, waits without blocking until the kernel says so or a bound is over, then goes on
  // with `then`; it thaws when `then` has returned, unless that keeps the guard.
  void freeze_then(base::Callback<void(const cgroup::Group& work)> then);
  void look_whether_frozen();
  void frozen(bool exact);

  void resume(const run::Members& members, std::optional<run::Ending> ending);
  void resume_end(const run::Ending& ending);

  std::string path() const { return around_.root.path_of(directory_.place()); }
  std::string work_path() const { return path() + "/work"; }

  Surroundings around_;
  RunObserver& observer_;
  run::Record record_;
  RunDirectory directory_;
  run::Status& status_;
  run::Phase phase_ = run::Phase::starting;
  bool spawning_ = true;
  cgroup::Lineage lineage_;
  std::optional<DriverWatch> driver_;
  std::optional<cgroup::Pidfd> supervisor_;  // while it is asked to leave
  std::optional<cgroup::Pidfd> opener_;
  Source opener_exited_;
  LeakBook leaks_;
  Watcher::Watch watch_;

  std::deque<run::Event> events_;
  std::deque<run::Action> actions_;
  bool draining_ = false;

  std::chrono::microseconds grace_;
  base::Moment end_began_, killed_at_;
  std::optional<uint64_t> kill_at_usec_;     // CLOCK_MONOTONIC
  std::optional<uint64_t> hold_until_usec_;  // CLOCK_MONOTONIC
  bool all_asked_ = false;
  bool driver_asked_ = false;
  bool asked_ = false;      // an end was asked for: no policy of its own spares
  bool overruled_ = false;  // by the end of the run that it is nested in
  Source deadline_, lease_over_, hold_over_;
  struct Lease {
    UniqueFd end;  // ours; the other is the holder's
    std::string text;
    Source closed;
  };
  std::vector<std::unique_ptr<Lease>> leases_;
  struct Setting {
    bool frozen;
    Done done;
    Source overdue;
  };
  std::optional<Setting> setting_;  // a person's freeze or thaw that waits for the kernel
  Survey::Request escapes_;
  bool let_go_ = false;  // the search for who escaped is over
  Source settle_, half_grace_, grace_over_, proof_, freeze_bound_, reaping_;
  std::optional<cgroup::Freeze> freeze_;
  base::Callback<void(const cgroup::Group& work)>
      when_frozen_;  // set while the wait for frozen goes on
};

}  // namespace corral::daemon
