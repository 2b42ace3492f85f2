#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace corral::cli {

struct HostOptions {
  // From the end of corralctl to the kill of the runs that are not over by then. Longer than a
  // requested end takes with the default grace; a run that was given more is cut short.
  static constexpr std::chrono::milliseconds kEndBound{30'000};

  std::optional<std::string> cgroup_parent;  // instead of the caller's own cgroup
  std::vector<std::string> environment;      // of the parts of the service: NAME=value
  std::chrono::milliseconds end_bound = kEndBound;
};

// What the host says, in this order:
//   "at" directory, cgroup's parent, cgroup's name; fds of the two cgroups
//   "up"; pidfds of the parts
// or, instead of either, "failed" errno, message; and what it is told:
//   "stop"
inline constexpr const char* kHostAt = "at";
inline constexpr const char* kHostUp = "up";
inline constexpr const char* kHostFailed = "failed";
inline constexpr const char* kHostStop = "stop";

// The life of the host, in a fork of corralctl that has all signals blocked: makes itself
// independent of corralctl and its terminal, starts the service, and takes it down when it is told
// to or its socket is at the end of file, which means that corralctl is gone. In that case it first
// lets the runs end. Its children get SIGTERM when it is killed itself.
[[noreturn]] void run_host(UniqueFd given, const HostOptions& options);

}  // namespace corral::cli
