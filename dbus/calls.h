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
  bool all = false;                                                         // ended ones too
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

struct ProcessRow {
  std::string run, invocation;
  run::Process process;
};

struct ManagerProperties {
  std::string version, boot_id;
  std::vector<std::string> features;
  uint32_t runs = 0, leaks = 0;
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
  virtual run::Answer<std::vector<ProcessRow>> list_processes(const Caller& caller,
                                                              const ProcessFilter& filter) = 0;
  // Leaks of runs whose driver has exited and of ended ones, as their reports list them.
  virtual run::Answer<std::vector<ProcessRow>> list_leaks(const Caller& caller,
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
