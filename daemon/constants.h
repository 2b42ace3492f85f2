#pragma once

#include <array>
#include <chrono>
#include <string_view>
#include <variant>

#include "daemon/config.h"

// The numbers of the service, in one table: what the administrator may change, with key, default
// and range, and what may not be changed. docs/corrald.conf.md has the same table.
namespace corral::daemon {

using namespace std::chrono_literals;
using Bound = std::chrono::microseconds;

// What a key takes, and where it goes.
struct PathKey {
  std::string Config::*field;
};
struct SpanKey {
  Bound Config::*field;
  Bound least, most;
};
struct LimitKey {  // or "infinity"
  std::optional<Bound> Config::*field;
  Bound least, most;
};
struct CountKey {
  uint64_t Config::*field;
  uint64_t least, most;
};
template <typename Enum>
struct WordKey {
  Enum Config::*field;
  std::string_view allowed;
};

struct Setting {
  std::string_view section, key;
  std::string_view standard;  // the default; Instance has those of a user's service that differ
  std::variant<PathKey, SpanKey, LimitKey, CountKey, WordKey<run::OnDriverExit>,
               WordKey<run::Enforcement>>
      kind;
  std::string_view what;
};

// From a kill to the walk by pidfd, for what the kernel's own kill missed.
inline constexpr Bound kWalkAfter = 250ms;
inline constexpr Bound kTenYears = 24h * 3650;

inline constexpr std::array kSettings = {
    Setting{"Service", "CgroupRoot", "", PathKey{&Config::cgroup_root},
            "A delegated cgroup2 directory for the runs; none: corral, below the service's own"},
    Setting{"Service", "StateDirectory", "/var/lib/corral", PathKey{&Config::state_directory},
            "Where reports are kept"},
    Setting{"Service", "SpawnerSocket", "/run/corral/spawn.sock", PathKey{&Config::spawner_socket},
            "The socket of corral-init --spawn"},

    Setting{"Runs", "OnDriverExit", "kill",
            WordKey<run::OnDriverExit>{&Config::on_driver_exit, "kill, freeze or report"},
            "What becomes of what outlives the driver"},
    Setting{"Runs", "SettleSec", "200ms", SpanKey{&Config::settle, 0s, 1h},
            "After the driver's exit, for helpers"},
    Setting{"Runs", "GraceSec", "5s", SpanKey{&Config::grace, 0s, 1h},
            "From the first signal to the kill"},
    Setting{"Runs", "RuntimeMaxSec", "infinity", LimitKey{&Config::runtime_max, 1ms, kTenYears},
            "How long a run may last"},
    Setting{"Runs", "HoldMaxSec", "infinity", LimitKey{&Config::hold_max, 1ms, kTenYears},
            "How long what is left may be held"},
    Setting{"Runs", "Enforcement", "enforce",
            WordKey<run::Enforcement>{&Config::enforcement, "enforce or observe"},
            "Whether ends are carried out, or only looked at"},
    Setting{"Runs", "KeepReports", "1000", CountKey{&Config::keep_reports, 1, 1'000'000},
            "Of ended runs: the newest"},
    Setting{"Runs", "KeepReportsSec", "7d", LimitKey{&Config::keep_reports_for, 1s, kTenYears},
            "And no older than"},

    Setting{"Bounds", "FreezeSec", "500ms", SpanKey{&Config::freeze, 1ms, 1min},
            "For a freeze; then the snapshot is taken as things are"},
    Setting{"Bounds", "ProofSec", "2s", SpanKey{&Config::proof, kWalkAfter, 1min},
            "From a kill to the report of who is stuck"},
    Setting{"Bounds", "ReapSec", "1s", SpanKey{&Config::reap, 1ms, 1min},
            "From asking the supervisor to leave to its kill"},
    Setting{"Bounds", "ExitRecordSec", "2s", SpanKey{&Config::exit_record, 1ms, 1min},
            "From the driver's exit to the record of it, while the supervisor lives"},
    Setting{"Bounds", "SpawnSec", "20s", SpanKey{&Config::spawn, 100ms, 10min},
            "For the spawner's answer"},
    Setting{"Bounds", "StopSec", "20s", SpanKey{&Config::stop, 0s, 1h},
            "For ends under way when the service is to stop"},
    Setting{"Bounds", "SyncSec", "200ms", SpanKey{&Config::sync, 0s, 1min},
            "From a change of the state directory to its sync"},
    Setting{"Bounds", "RemoveSec", "5s", SpanKey{&Config::remove, 0s, 10min},
            "For the removal of an ended run's directory"},
};

}  // namespace corral::daemon
