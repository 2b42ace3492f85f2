#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "run/id.h"
#include "run/process.h"
#include "run/words.h"

namespace corral::run {

// Who asked for something: what the bus daemon and /proc said of the caller at that moment. comm
// and unit are escaped.
struct Who {
  uint32_t uid = 0;
  uint32_t pid = 0;
  std::string comm;
  std::string unit;  // "" where its cgroup is no unit's

  // "uid 0, pid 17 (busctl), unit foo.service"; "" for nobody (pid 0).
  std::string text() const;
};

// What is said of a run once it is over, and of how far it got before. A figure whose controller is
// absent, or that was not measured, is absent.
struct Report {
  std::string id;
  std::string invocation;
  std::string owner;
  uint32_t owner_uid = 0;
  std::string token;  // not on the bus
  Kind kind = Kind::driver;
  State state = State::starting;
  RunResult result = RunResult::none;
  EndReason end_reason = EndReason::none;
  std::string
      end_message;  // the Reason of the caller who ended it, or why a start failed (step and errno)
  std::string ended_by;
  DriverExit driver_exit = DriverExit::none;
  int32_t driver_status = 0;                       // exit code or signal
  std::string unknown_reason;                      // why driver_exit is unknown
  Enforcement enforcement = Enforcement::enforce;  // the last that held, the service's included
  Containment containment = Containment::cooperative;
  base::Moment start, driver_exited, end;
  std::optional<uint64_t> peak_descendants;  // pids.peak of work/
  uint64_t leaks_found = 0;                  // exact, however many are listed
  uint64_t leaks_omitted = 0;                // found and not listed
  uint64_t terminated = 0;
  uint64_t killed = 0;
  uint64_t kept = 0;
  uint64_t escaped = 0;
  uint64_t stuck = 0;
  std::optional<uint64_t> time_to_empty_usec;  // from the first step of the end to the proof
  std::optional<uint64_t> wall_usec;           // from the start to the driver's exit
  std::optional<uint64_t> cpu_usec, memory_peak, oom_kills, io_read_bytes, io_write_bytes;
  bool snapshot_exact = false;  // the leaks were listed while frozen
  std::vector<Process> leaks;   // listening ones first, then by memory

  friend bool operator==(const Report&, const Report&) = default;
};

// As each_field() of a Process; the leaks come last. Absent optionals are for f to leave out.
template <typename R, typename F>
void each_field(R& r, F&& f) requires std::same_as<std::remove_const_t<R>, Report> {
  f("Id", r.id);
  f("Invocation", r.invocation);
  f("Owner", r.owner);
  f("OwnerUID", r.owner_uid);
  f("Kind", r.kind);
  f("State", r.state);
  f("Result", r.result);
  f("EndReason", r.end_reason);
  f("EndMessage", r.end_message);
  f("EndedBy", r.ended_by);
  f("DriverExit", r.driver_exit);
  f("DriverStatus", r.driver_status);
  f("UnknownReason", r.unknown_reason);
  f("Enforcement", r.enforcement);
  f("Containment", r.containment);
  f("StartTimestamp", r.start.realtime_usec);
  f("StartTimestampMonotonic", r.start.monotonic_usec);
  f("DriverExitTimestamp", r.driver_exited.realtime_usec);
  f("DriverExitTimestampMonotonic", r.driver_exited.monotonic_usec);
  f("EndTimestamp", r.end.realtime_usec);
  f("EndTimestampMonotonic", r.end.monotonic_usec);
  f("PeakDescendants", r.peak_descendants);
  f("LeaksFound", r.leaks_found);
  f("LeaksOmitted", r.leaks_omitted);
  f("Terminated", r.terminated);
  f("Killed", r.killed);
  f("Kept", r.kept);
  f("Escaped", r.escaped);
  f("Stuck", r.stuck);
  f("TimeToEmptyUSec", r.time_to_empty_usec);
  f("WallUSec", r.wall_usec);
  f("CPUUSec", r.cpu_usec);
  f("MemoryPeak", r.memory_peak);
  f("OOMKills", r.oom_kills);
  f("IOReadBytes", r.io_read_bytes);
  f("IOWriteBytes", r.io_write_bytes);
  f("SnapshotExact", r.snapshot_exact);
  f("Leaks", r.leaks);
}

// The RunResult that a driver's exit means: success for exit code 0.
RunResult result_of(DriverExit exit, int32_t status, bool oom_killed);

// Sorts leaks for people (listening first, then by memory, then by pid) and keeps kListedLeaks of
// them; counts the others in leaks_omitted.
void rank_and_cap(Report& report);

}  // namespace corral::run
