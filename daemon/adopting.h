#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/adoption.h"
#include "daemon/survey.h"
#include "dbus/calls.h"
#include "run/record.h"

namespace corral::daemon {

// A call to AdoptProcesses under way. What was named is held from the call on.
struct Adopting {
  struct Candidate {
    cgroup::Pidfd process;
    uint64_t start_time;

    run::ProcessName name() const { return {static_cast<uint32_t>(process.pid()), start_time}; }
  };

  dbus::Caller caller;
  UniqueFd caller_pidfd;
  run::Spec spec;
  std::vector<Candidate> candidates;  // the driver first
  dbus::Reply<dbus::RunName> reply;
  std::unique_ptr<Adoption> adoption = {};  // nothing before the first pass
  std::optional<run::Invocation> invocation = {};
  int rounds = 0;
  Survey::Request request = {};

  run::Fault fault(run::FaultKind kind, const std::string& why) const {
    return {kind, "adopt as run \"" + spec.id.text() + "\": " + why};
  }
  run::Fault fault(run::FaultKind kind, pid_t pid, const std::string& why) const {
    return fault(kind, "pid " + std::to_string(pid) + " " + why);
  }
};

}  // namespace corral::daemon
