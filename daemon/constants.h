#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// The bounds of the service, in one place; docs/ARCHITECTURE.md has the same table.
namespace corral::daemon {

using namespace std::chrono_literals;
using Bound = std::chrono::microseconds;

// From writing cgroup.freeze to frozen 1; then the snapshot is taken as things are.
inline constexpr Bound kFreezeBound = 500ms;
// From a kill to the walk by pidfd, for what the kernel's own kill missed.
inline constexpr Bound kWalkAfter = 250ms;
// From a kill to the report of who is stuck.
inline constexpr Bound kProofBound = 2s;
// From asking the supervisor to leave to its kill.
inline constexpr Bound kReapBound = 1s;
// From the driver's exit to the record of it, while the supervisor lives.
inline constexpr Bound kExitRecordBound = 2s;
// For the spawner's answer.
inline constexpr Bound kSpawnBound = 20s;
// For ends under way when the service is to stop.
inline constexpr Bound kStopBound = 20s;
// From a change of the store to its sync.
inline constexpr Bound kSyncDelay = 200ms;
// Of ended reports: the newest, and no older than.
inline constexpr size_t kRetained = 1000;
inline constexpr std::chrono::hours kRetention{24 * 7};

}  // namespace corral::daemon
