#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "run/words.h"

namespace corral::run {

// One process of a run as a person wants to see it. Every string that came from the process is
// escaped (base/escape.h) and cut. What could not be read (it went meanwhile, or permission) is
// absent.
struct Process {
  std::string run, invocation;  // whose it is; of a report's own, what the report says
  uint32_t pid = 0;
  uint64_t start_time = 0;  // clock ticks since boot: with pid, the identity (proc_pid_stat(5),
                            // field 22); not on the bus
  uint64_t start_timestamp = 0;  // CLOCK_REALTIME, microseconds
  std::optional<uint32_t> uid;
  std::string comm;
  std::string exe;                // "" where the kernel does not say
  std::vector<std::string> argv;  // at most kArgvBytes together
  bool argv_truncated = false;
  std::string state;  // one letter: proc_pid_stat(5), field 3. Z may still live on in other threads
  uint32_t ppid = 0, pgid = 0, sid = 0;
  std::string control_group;         // path below the cgroup2 mount
  std::optional<uint64_t> rss;       // bytes
  std::optional<uint64_t> cpu_usec;  // user and system time
  std::optional<uint64_t> age_usec;  // when it was looked at
  Detached detached = Detached::no;
  std::vector<std::string>
      listening;  // "tcp:127.0.0.1:5173", "udp:[::]:53", "unix:/run/x", "unix:@abstract"
  Outcome outcome = Outcome::left;
  std::string rule;   // what spared it or singled it out, e.g. "stranger"; "" where nothing did
  std::string wchan;  // of a stuck one: where in the kernel it waits

  friend bool operator==(const Process&, const Process&) = default;
};

inline constexpr size_t kArgvBytes = 4096;   // of a process's command line that are shown, escaped
inline constexpr size_t kListedLeaks = 256;  // of a report; the counts stay exact

// The order in which leaks are shown: listening ones first (a taken port is how people meet a
// leak), then by memory. Total, so that two reports of one state are the same.
inline bool shown_before(const Process& a, const Process& b) {
  const auto rank = [](const Process& p) {
    return std::tuple(p.listening.empty(), ~p.rss.value_or(0), p.pid, p.start_time);
  };
  return rank(a) < rank(b);
}

// Calls f(name on the wire, field) for each field that goes on the wire, in the order it is shown.
// P is Process or const Process; f takes any of the field types.
template <typename P, typename F>
void each_field(P& p, F&& f) {
  f("Run", p.run);
  f("Invocation", p.invocation);
  f("PID", p.pid);
  f("StartTimestamp", p.start_timestamp);
  f("UID", p.uid);
  f("Comm", p.comm);
  f("Exe", p.exe);
  f("Argv", p.argv);
  f("ArgvTruncated", p.argv_truncated);
  f("State", p.state);
  f("PPID", p.ppid);
  f("PGID", p.pgid);
  f("SID", p.sid);
  f("ControlGroup", p.control_group);
  f("RSS", p.rss);
  f("CPUUSec", p.cpu_usec);
  f("AgeUSec", p.age_usec);
  f("Detached", p.detached);
  f("Listening", p.listening);
  f("Outcome", p.outcome);
  f("Rule", p.rule);
  f("WaitChannel", p.wchan);
}

}  // namespace corral::run
