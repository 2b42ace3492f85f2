#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cgroup/janitor.h"
#include "daemon/active_run.h"
#include "daemon/callers.h"
#include "daemon/configuration.h"
#include "daemon/loop.h"
#include "daemon/registry.h"
#include "daemon/root.h"
#include "daemon/spawner.h"
#include "daemon/store.h"
#include "daemon/survey.h"
#include "daemon/watcher.h"
#include "dbus/authority.h"
#include "dbus/calls.h"
#include "dbus/server.h"

namespace corral::daemon {

struct Settings {
  dbus::BusAddress bus;
  Configuration configuration;
};

struct Adopting;

// The runs of this service: what the bus asks of them, and what they tell the bus. Owns nothing of
// the kernel but through ActiveRun.
class Service final : public dbus::Calls, public RunObserver {
 public:
  Service(Loop& loop, const Settings& settings, Store store, std::unique_ptr<Watcher> watcher,
          std::string boot_id);
  ~Service() override;

  // Finds the runs that the service before us left, before anyone can ask for them.
  // docs/ARCHITECTURE.md has the order.
  void recover();
  // What is said from now on goes to this server, recovered runs first. It outlives the service.
  void attach(dbus::Server& server);
  // Asks for the kernel's bugs; they are in Features when the answer is there.
  void probe();
  // Refuses new runs, waits for ends under way with a bound, then calls back once.
  void stop(base::Callback<void()> stopped);

  void start_run(const dbus::Caller& caller, run::Spec spec,
                 dbus::Reply<dbus::RunName> reply) override;
  run::Answer<dbus::OpenedRun> open_run(const dbus::Caller& caller, run::Spec spec) override;
  run::Answer<void> attach(const dbus::Caller& caller, const run::Invocation& run,
                           uint32_t pid) override;
  run::Answer<void> report_exit(const dbus::Caller& caller, const run::Invocation& run,
                                run::DriverExit exit, int32_t status) override;
  void end_run(const dbus::Caller& caller, const dbus::RunRef& ref, dbus::EndOptions options,
               dbus::Reply<run::Report> reply) override;
  void end_runs(const dbus::Caller& caller, dbus::EndRunsOptions options,
                dbus::Reply<std::vector<dbus::EndedRow>> reply) override;
  void freeze_run(const dbus::Caller& caller, const dbus::RunRef& ref, bool frozen,
                  dbus::Reply<void> reply) override;
  run::Answer<void> set_run(const dbus::Caller& caller, const dbus::RunRef& ref,
                            dbus::SetOptions options) override;
  run::Answer<void> renew_lease(const dbus::Caller& caller, const dbus::RunRef& ref,
                                std::chrono::microseconds ttl) override;
  run::Answer<UniqueFd> acquire_lease(const dbus::Caller& caller, const dbus::RunRef& ref,
                                      std::string who, std::string why) override;
  void adopt_processes(const dbus::Caller& caller, run::Spec spec, std::vector<uint32_t> pids,
                       dbus::Reply<dbus::RunName> reply) override;
  run::Answer<dbus::RunName> release(const dbus::Caller& caller, const run::Invocation& run,
                                     std::vector<uint32_t> pids) override;
  run::Answer<void> set_enforcement(const dbus::Caller& caller, run::Enforcement value) override;
  void wait_run(const dbus::Caller& caller, const dbus::RunRef& ref, dbus::WaitOptions options,
                dbus::Reply<run::Status> reply) override;
  run::Answer<run::Report> get_report(const dbus::Caller& caller, const dbus::RunRef& ref) override;
  run::Answer<void> signal_run(const dbus::Caller& caller, const dbus::RunRef& ref, dbus::Whom whom,
                               int signal) override;
  run::Answer<dbus::RunName> get_run(const dbus::RunRef& ref) override;
  run::Answer<dbus::RunName> get_run_by_pid(const dbus::Caller& caller, uint32_t pid) override;
  run::Answer<std::vector<const run::Status*>> list_runs(const dbus::Caller& caller,
                                                         const dbus::RunFilter& filter) override;
  run::Answer<std::vector<run::Process>> list_processes(const dbus::Caller& caller,
                                                        const dbus::ProcessFilter& filter) override;
  run::Answer<std::vector<run::Process>> list_leaks(const dbus::Caller& caller,
                                                    const dbus::ProcessFilter& filter) override;
  run::Answer<void> forget_run(const dbus::Caller& caller, const dbus::RunRef& ref) override;
  dbus::ManagerProperties manager_properties() override;
  run::Policy default_policy() override { return default_policy_; }
  std::vector<dbus::ConfigurationRow> configuration() override;
  uint32_t descendants(const run::Invocation& invocation) override;

 private:
  void run_started(ActiveRun& run) override;
  void run_departed(ActiveRun& run) override;
  void run_leaked(ActiveRun& run) override;
  void run_stuck(ActiveRun& run) override;
  void run_changed(ActiveRun& run) override;
  void run_held(ActiveRun& run) override;
  void run_ended(ActiveRun& run) override;
  bool observes(const ActiveRun& run, bool overruled) override;
  Result<Kept> keep(const ActiveRun& run, std::vector<run::Process> processes,
                    const std::string& rule) override;
  std::vector<run::Process> nested_processes(const ActiveRun& run) override;
  std::vector<run::Process> spared_by(const ActiveRun& run) override;
  bool holds_runs(const ActiveRun& run) override;
  void end_nested(ActiveRun& run, std::chrono::microseconds grace) override;

  // service_start.cpp
  // What a new run begins with: an entry that is not known to anyone yet, and its record.
  struct Beginning {
    std::unique_ptr<Entry> entry;
    run::Record record;
    std::string place;
  };
  // The run that this very caller started with this token before, or where a new one begins.
  run::Answer<std::variant<Entry*, Beginning>> admit(const dbus::Caller& caller,
                                                     const run::Spec& spec);
  std::optional<run::Fault> refuse_start(const dbus::Caller& caller, const run::RunId& id);
  Result<void> begin(Entry& entry, run::Record record, const std::string& place,
                     const run::Spec& spec);
  Result<cgroup::Group> prepare(Entry& entry, run::Record& record, const std::string& place);
  struct Groups {
    const cgroup::Group &whole, &init, &work;
  };
  Result<void> launch(Entry& entry, const Groups& groups, const run::Spec& spec);
  void fail_start(Entry& entry, const std::string& place, const Error& error);
  run::Fault fault_of_start(const Entry& entry, const Error& error);

  // service_ends.cpp
  // A call to EndRuns: its rows fill as the ends are told.
  struct EndBatch {
    dbus::Reply<std::vector<dbus::EndedRow>> reply;
    std::vector<dbus::EndedRow> rows = {};
    size_t open = 1;  // and one for the asking itself
  };
  void end_entry(Entry& entry, dbus::EndOptions options, std::string by,
                 dbus::Reply<run::Report> reply);
  std::optional<run::Fault> observed_fault(const Entry& entry) const;
  void tell_observed(Entry& entry);
  std::vector<Entry*> choose(const dbus::Caller& caller, const dbus::EndRunsOptions& options);
  void end_told(std::list<EndBatch>::iterator batch);

  // service_policy.cpp
  // One answer for all that are to be frozen or thawed.
  struct FreezeBatch {
    dbus::Reply<void> reply;
    std::optional<run::Fault> failed = {};
    size_t open = 1;  // and one for the asking itself
  };
  void enforcement_changed();
  run::Answer<Entry*> live_for(const dbus::Caller& caller, const dbus::RunRef& ref, dbus::Act act,
                               const char* what);
  // NotOwner of a caller inside a run, whichever it is.
  std::optional<run::Fault> refuse_seated(const dbus::Caller& caller,
                                          const std::string& what) const;
  run::Answer<ActiveRun*> leased(const dbus::Caller& caller, const dbus::RunRef& ref);

  // service_keep.cpp
  Error forget(Entry& entry, const std::string& place, Error why);

  // service_adopt.cpp
  using Adoptings = std::list<std::unique_ptr<Adopting>>;
  bool adopt(Adoptings::iterator which, cgroup::Kinship* pass);
  std::optional<run::Fault> begin_adoption(Adopting& adopting, cgroup::Kinship& pass);
  Result<void> begin_adopted(Adopting& adopting, Entry& entry, run::Record record,
                             const std::string& place, cgroup::Kinship& pass);
  std::optional<run::Fault> refuse_adoption(const Adopting& adopting, const Entry* parent,
                                            cgroup::Kinship& pass);
  std::map<pid_t, std::string> guarded(cgroup::Kinship& pass);

  // service_open.cpp
  // What the new run descends from: whom it is nested in, or whom it is independent of.
  struct Descent {
    Entry* parent = nullptr;
    std::optional<run::DirectoryName> spared_from;
  };
  run::Answer<Descent> descent_of(const dbus::Caller& caller, const run::Spec& spec);
  Result<void> begin_opened(Entry& entry, run::Record record, const std::string& place);
  run::Answer<ActiveRun*> opened_by(const dbus::Caller& caller, const run::Invocation& run,
                                    const char* what);
  Entry* taken_by(const ActiveRun& run, pid_t pid);
  Result<Root*> require_root();

  // service_recovery.cpp
  static constexpr const char* kProbePrefix = "probe-";
  void recover_reports();
  void recover_directory(const std::string& place, const Entry* parent);
  void leave_alone(const cgroup::Group& group, const Error& why);
  void recover_stubs();

  run::Answer<Entry*> find_for(const dbus::Caller& caller, const dbus::RunRef& ref, dbus::Act act,
                               bool allow_self = false);
  std::optional<run::Fault> refuse(const dbus::Caller& caller, const Entry& entry, dbus::Act act,
                                   bool allow_self = false);
  static bool matches(const dbus::RunFilter& filter, const Entry& entry);
  dbus::Position position(const Seat& seat, const Entry& entry);
  bool may_see(const dbus::Caller& caller, const Entry& entry);
  Entry& entry_of(const ActiveRun& run);
  void conclude(Entry& entry);
  void store_report(const Entry& ended);
  void drop_overdue();
  void look_whether_stopped();
  Surroundings surroundings();

  Loop& loop_;
  Settings settings_;
  const Config& config_;  // of the settings
  run::Policy default_policy_;
  std::string boot_id_;
  Store store_;
  std::unique_ptr<Watcher> watcher_;
  std::optional<Root> root_;
  cgroup::Janitor janitor_;  // has the root's fd
  Source janitor_source_;
  Spawner spawner_;
  Survey survey_;
  Registry registry_;
  std::vector<std::unique_ptr<ActiveRun>>
      gone_;  // ended inside their own callbacks; freed in the next turn
  Source burial_, dropping_, stop_bound_;
  std::vector<run::Invocation> unsaved_;  // reports that the store did not take yet
  std::vector<std::string> features_;
  run::Enforcement enforcement_ = run::Enforcement::enforce;
  std::list<EndBatch> ends_;
  std::list<FreezeBatch> freezes_;
  Adoptings adoptions_;
  dbus::Server* server_ = nullptr;
  base::Callback<void()> stopped_;
  bool probing_ = false;
  bool stopping_ = false;
};

}  // namespace corral::daemon
