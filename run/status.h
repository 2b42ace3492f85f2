#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/id.h"
#include "run/policy.h"
#include "run/report.h"

namespace corral::run {

// A run as its D-Bus object shows it: the report so far and what is true only of a live run.
struct Status {
  Report report;
  std::string description;
  std::map<std::string, std::string> labels;
  Policy policy;
  std::string control_group;  // path of the run's directory below the cgroup2 mount; "" once ended
  uint64_t control_group_id = 0;             // the directory's inode: the kernel's cgroup id
  uint32_t driver_pid = 0;                   // 0: not yet, or not any more
  std::optional<DirectoryName> parent = {};  // the run that it is nested in
  bool frozen = false;
  std::vector<std::string> leases = {};  // of AcquireLease: "WHO: WHY"

  friend bool operator==(const Status&, const Status&) = default;
};

// As each_field() of a Report: the properties of org.corral.Corral1.Run but for Descendants, which
// is counted when asked.
template <typename S, typename F>
void each_property(S& s, F&& f) {
  auto& r = s.report;
  f("Id", r.id);
  f("Invocation", r.invocation);
  f("Owner", r.owner);
  f("OwnerUID", r.owner_uid);
  f("Description", s.description);
  f("Labels", s.labels);
  f("Kind", r.kind);
  f("State", r.state);
  f("Result", r.result);
  f("EndReason", r.end_reason);
  f("EndMessage", r.end_message);
  f("EndedBy", r.ended_by);
  f("ControlGroup", s.control_group);
  f("ControlGroupId", s.control_group_id);
  f("Enforcement", r.enforcement);
  f("Containment", r.containment);
  f("DriverPID", s.driver_pid);
  f("DriverExit", r.driver_exit);
  f("DriverStatus", r.driver_status);
  f("Frozen", s.frozen);
  f("Leaks", r.leaks_found);
  f("Stuck", r.stuck);
}

}  // namespace corral::run
