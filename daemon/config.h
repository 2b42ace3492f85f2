#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "run/policy.h"

namespace corral::daemon {

using std::chrono::microseconds;

// What an administrator may choose. daemon/constants.h has the key, the default and the range of
// each; docs/corrald.conf.md says what they mean. Nothing is set in one that is made by itself:
// Configuration makes those that are whole.
struct Config {
  // [Service]
  std::string cgroup_root;  // "": "corral" below the service's own cgroup
  std::string state_directory, spawner_socket;

  // [Runs]: what a start that does not say gets, and what is kept of a run.
  run::OnDriverExit on_driver_exit{};
  microseconds settle{}, grace{};
  std::optional<microseconds> runtime_max, hold_max;  // nothing: for as long as it takes
  run::Enforcement enforcement{};  // of the service, until SetEnforcement says otherwise
  uint64_t keep_reports = 0;
  std::optional<microseconds> keep_reports_for;  // nothing: for ever

  // [Bounds]
  microseconds freeze{};       // from writing cgroup.freeze to frozen 1
  microseconds proof{};        // from a kill to the report of who is stuck
  microseconds reap{};         // from asking the supervisor to leave to its kill
  microseconds exit_record{};  // from the driver's exit to the record of it
  microseconds spawn{};        // for the spawner's answer
  microseconds stop{};         // for ends under way when the service is to stop
  microseconds sync{};         // from a change of the store to its sync
  microseconds remove{};       // for the removal of a run's directory
};

// What a start is given where its caller does not say.
void apply_defaults(run::Policy& policy, const Config& config);

}  // namespace corral::daemon
