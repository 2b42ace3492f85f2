#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/callback.h"
#include "base/unique_fd.h"
#include "run/fault.h"
#include "run/id.h"
#include "run/report.h"
#include "run/spec.h"
#include "run/status.h"

namespace corral::dbus {

using std::chrono::microseconds;

// Who calls, as the bus daemon says (GetConnectionCredentials). The pidfd holds the process; it may
// have exited.
struct Caller {
  std::string sender;  // unique name
  uint32_t uid = 0;
  pid_t pid = 0;   // 0: the bus daemon did not say, or the process is gone
  int pidfd = -1;  // borrowed for the call; -1 with pid 0
};

// A run as callers name it: the id's newest invocation, or just this one (else InvocationMismatch).
struct RunRef {
  run::RunId id;
  std::optional<run::Invocation> invocation;
};

struct RunName {
  run::RunId id;
  run::Invocation invocation;
};

struct EndOptions {
  std::optional<microseconds> grace;  // not asked: the run's own
  std::string reason;                 // at most 256 bytes
  bool no_block = false;              // answered at once with the report so far
  bool allow_self = false;            // also from inside the run
};

// What is changed of a live run; what is absent stays.
struct SetOptions {
  std::optional<std::string> owner, description;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::optional<microseconds>> runtime_max;  // from the start; nullopt in it: none
  std::optional<run::Enforcement> enforcement;
};

enum class Until { driver, settled, ended };
struct WaitOptions {
  Until until = Until::settled;
  microseconds timeout = std::chrono::seconds{20};
};

enum class Whom { driver, all };

struct RunFilter {
  std::optional<std::string> owner;
  std::optional<run::State> state;
  std::optional<std::pair<std::string, std::optional<std::string>>> label;  // KEY, or KEY=VALUE
  std::optional<std::string> parent;  // the id of the run that it is nested in, "" for none
  bool all = false;                   // ended ones too
};

// Which runs are to end, and how; none of the filters: every live one.
struct EndRunsOptions {
  RunFilter filter;
  std::optional<microseconds> older_than;  // since the end of the driver, for a held one; else
                                           // since the start
  bool dry_run = false;
  EndOptions end;
};
// What was, or would be, done to one of them.
struct EndedRow {
  RunName name;
  run::State state = run::State::running;
  uint64_t processes = 0;  // in it when it was asked
  std::string outcome;     // "ended", "ending", "would-end", or the error's name
  std::string message;     // the error's
};

struct ProcessFilter {
  std::optional<run::RunId> run;
  std::optional<run::Invocation> invocation;
  std::optional<std::string> owner;
  std::optional<std::pair<std::string, std::optional<std::string>>> label;
  std::optional<uint32_t> pid;
  std::optional<uint16_t> port;  // listening, tcp or udp
  uint64_t offset = 0;
  uint64_t limit =
      1000;  // at most 1000 rows a call, so that no reply grows past what the bus takes
};

struct ManagerProperties {
  std::string version, boot_id;
  std::vector<std::string> features;
  uint32_t runs = 0, leaks = 0;
  run::Enforcement enforcement = run::Enforcement::enforce;
};

// A value of the configuration, and where it came from: "default", "FILE:LINE" or "command line".
struct ConfigurationRow {
  std::string section, key, value, source;
};

// A run whose driver the caller brings.
struct OpenedRun {
  RunName name;
  std::string directory;  // absolute, in the cgroup2 file system
};

// Answers a call once, at once or later. Dropped unanswered: the caller sees the connection go.
template <typename T>
using Reply = base::Callback<void(run::Answer<T>)>;

// What the service does for the bus. dbus/ turns messages into these calls and answers into
// messages; every argument that arrives here has been checked for form, not for authority
// (authority.h).
class Calls {
 public:
  virtual ~Calls() = default;

  // Answered when the driver has executed.
  virtual void start_run(const Caller& caller, run::Spec spec, Reply<RunName> reply) = 0;
  // A run without a driver, tied to the caller's process. `spec` says nothing of a driver.
  virtual run::Answer<OpenedRun> open_run(const Caller& caller, run::Spec spec) = 0;
  // The driver of an opened run; only from the process that opened it.
  virtual run::Answer<void> attach(const Caller& caller, const run::Invocation& run,
                                   uint32_t pid) = 0;
  // How the attached driver went: exited, killed or dumped.
  virtual run::Answer<void> report_exit(const Caller& caller, const run::Invocation& run,
                                        run::DriverExit exit, int32_t status) = 0;
  // Answered with the final report when the kernel says that nothing is left, or with
  // StillPopulated.
  virtual void end_run(const Caller& caller, const RunRef& ref, EndOptions options,
                       Reply<run::Report> reply) = 0;
  // Answered with the state when it is reached, or as it is at the time-out.
  // A row for each run of the filter that the caller may act on, when all of them have ended or are
  // stuck.
  virtual void end_runs(const Caller& caller, EndRunsOptions options,
                        Reply<std::vector<EndedRow>> reply) = 0;
  // Freezes or thaws the run and those nested in it; answered when the kernel says so, or with
  // FreezeTimeout and thawed again.
  virtual void freeze_run(const Caller& caller, const RunRef& ref, bool frozen,
                          Reply<void> reply) = 0;
  virtual run::Answer<void> set_run(const Caller& caller, const RunRef& ref,
                                    SetOptions options) = 0;
  // Renews the lease for `ttl`; zero drops it.
  virtual run::Answer<void> renew_lease(const Caller& caller, const RunRef& ref,
                                        microseconds ttl) = 0;
  // A lease that lasts until every copy of the fd is closed.
  virtual run::Answer<UniqueFd> acquire_lease(const Caller& caller, const RunRef& ref,
                                              std::string who, std::string why) = 0;
  // A run of processes that live already, the first its driver. `spec` says nothing of a driver.
  virtual void adopt_processes(const Caller& caller, run::Spec spec, std::vector<uint32_t> pids,
                               Reply<RunName> reply) = 0;
  // Moves processes of the run to a run of kind `kept`, and answers with its name.
  virtual run::Answer<RunName> release(const Caller& caller, const run::Invocation& run,
                                       std::vector<uint32_t> pids) = 0;
  // Of the whole service.
  virtual run::Answer<void> set_enforcement(const Caller& caller, run::Enforcement value) = 0;
  virtual void wait_run(const Caller& caller, const RunRef& ref, WaitOptions options,
                        Reply<run::Status> reply) = 0;
  virtual run::Answer<run::Report> get_report(const Caller& caller, const RunRef& ref) = 0;
  virtual run::Answer<void> signal_run(const Caller& caller, const RunRef& ref, Whom whom,
                                       int signal) = 0;
  virtual run::Answer<RunName> get_run(const RunRef& ref) = 0;
  // pid 0 is the caller's own.
  virtual run::Answer<RunName> get_run_by_pid(const Caller& caller, uint32_t pid) = 0;
  virtual run::Answer<std::vector<const run::Status*>> list_runs(const Caller& caller,
                                                                 const RunFilter& filter) = 0;
  virtual run::Answer<std::vector<run::Process>> list_processes(const Caller& caller,
                                                                const ProcessFilter& filter) = 0;
  // Leaks of runs whose driver has exited and of ended ones, as their reports list them.
  virtual run::Answer<std::vector<run::Process>> list_leaks(const Caller& caller,
                                                            const ProcessFilter& filter) = 0;
  virtual run::Answer<void> forget_run(const Caller& caller, const RunRef& ref) = 0;

  virtual ManagerProperties manager_properties() = 0;
  // What a start is given where its caller does not say.
  virtual run::Policy default_policy() = 0;
  virtual std::vector<ConfigurationRow> configuration() = 0;
  // Processes in the run's work/ and below, counted now; 0 for an ended one.
  virtual uint32_t descendants(const run::Invocation& invocation) = 0;
};

}  // namespace corral::dbus
