#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/callback.h"
#include "cgroup/pidfd.h"
#include "daemon/loop.h"
#include "daemon/root.h"
#include "daemon/store.h"
#include "daemon/watcher.h"
#include "run/record.h"

namespace corral::daemon {

// How the driver went, and why that is not known where it is not.
struct Departure {
  run::Exit exit;
  std::string unknown_reason;
};

// Waits for the driver's exit and finds its status. The pidfd says when; the status is, in this
// order: the supervisor's record on the directory, its twin in the store, what the kernel tells of
// a zombie (/proc/PID/stat) or of a reaped process (PIDFD_GET_INFO, Linux 6.15), `unknown` with the
// reason. The record comes up to some milliseconds after the pidfd: it is waited for while the
// supervisor lives, with a bound.
class DriverWatch {
 public:
  // `departed` is called once, from the loop.
  DriverWatch(Loop& loop, Watcher& watcher, const Store& store, std::chrono::microseconds bound,
              RunDirectory directory, run::Invocation invocation,
              std::optional<cgroup::Pidfd> driver, base::Callback<void(Departure)> departed);

  // The exit, by whoever waited for it; nothing where it was told before.
  void report(const run::Exit& exit) { tell({exit, ""}); }
  // Whether its exit was told.
  bool departed() const { return done_; }
  // The pidfd while the driver is not known to be gone; nullptr else.
  const cgroup::Pidfd* driver() const;

 private:
  void await_record();
  void look();
  void ask_kernel(const std::string& reason);
  void tell_unknown(const std::string& reason);
  void tell(Departure departure);
  std::optional<run::Exit> recorded() const;

  Loop& loop_;
  Watcher& watcher_;
  const Store& store_;
  std::chrono::microseconds bound_;  // for the record
  RunDirectory directory_;
  run::Invocation invocation_;
  std::optional<cgroup::Pidfd> driver_, supervisor_;
  base::Callback<void(Departure)> departed_;
  bool done_ = false;
  Source exited_, supervisor_exited_, overdue_;
  Watcher::Watch record_watch_;
};

// The run's supervisor, found by the record on its directory and its start time; nullopt where it
// is gone or was never recorded.
std::optional<cgroup::Pidfd> open_supervisor(const RunDirectory& directory);
// What the supervisor wrote of driver and itself; nullopt where it did not get so far.
std::optional<run::Members> read_members(const RunDirectory& directory);

}  // namespace corral::daemon
