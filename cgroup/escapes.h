#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cgroup/kinship.h"
#include "cgroup/processes.h"
#include "run/id.h"
#include "run/process.h"
#include "run/record.h"

namespace corral::cgroup {

// What ties a process to a run.
struct Ties {
  run::RunId id;
  run::Invocation invocation;
  uint32_t uid = 0;              // that the driver was started as
  std::string runs;              // path of the directory that holds all runs, as path_of() has it
  std::string directory;         // path of the run's own, below `runs`
  run::ProcessName driver = {};  // pid 0: not known
  run::ProcessName supervisor = {};  // the driver's parent; pid 0: none
  // Whether the supervisor is a subreaper that has been alive all the time, and has no children but
  // the run's and those of `spared`: each orphan of the run is its child then. Else a chain of
  // parents that gets to it says nothing: its other children are not of the run.
  bool adopts = false;
  // The service's own processes and others that are known not to be the run's. Never reported; what
  // descends from them is not the run's by that.
  std::vector<pid_t> spared = {};
};

// Looks for processes that were of a run and sit in no run now. Two rules:
//   parent       the chain of its parents leads to the driver, to a process in the run's directory
//                (nested runs excepted, they tell their own), or to a supervisor that adopts. The
//                nearest decides: a member of a nested run that is on the way ends the chain.
//   environment  its uid is the run's, and CORRAL_RUN_ID and CORRAL_INVOCATION in its environment
//                are those of the run
// A process that has left, lost its parent to pid 1 and wrote over its environment is not found.
class EscapeSearch {
 public:
  // `kinship`, of a pass that is done, has to live on. Searches for several runs may share one.
  EscapeSearch(Kinship& kinship, Ties ties, Lineage lineage);
  // Looks at `how_many` more processes; true when all are done. Nothing is signalled. Does not
  // block; an environment costs up to kEnvironBytes of reading.
  bool step(size_t how_many);

  // What was found so far, each looked at and described when it was found; its control_group is
  // where it sat then. Outcome is escaped, rule is the rule that found it.
  std::vector<run::Process> take() { return std::exchange(found_, {}); }
  // Processes of the uid whose environment could not be read: nothing is known of them.
  size_t unreadable() const { return unreadable_; }

 private:
  std::optional<bool> side(const Kin& kin) const;
  bool is_kin(pid_t pid);
  const char* rule(const Kin& kin);
  void look_at(const std::vector<std::pair<Kin, const char*>>& hits);

  Kinship& kinship_;
  Ties ties_;
  Lineage lineage_;
  std::vector<std::string> entries_;
  size_t next_ = 0;                        // of kinship_.pids()
  std::unordered_map<pid_t, bool> known_;  // what is_kin() said
  std::vector<run::Process> found_;
  size_t unreadable_ = 0;
};

// Whether a member of the run's work/ came from elsewhere: the chain of its parents leads neither
// to the driver nor to the supervisor, or to it by way of a spared one. Reads what the pass did not
// see. nullopt, as nobody can tell, where the supervisor does not adopt, the chain breaks off, or
// the process is of another pid namespace than the supervisor: that one has a reaper of its own.
std::optional<bool> is_foreign(Kinship& kinship, const Ties& ties, pid_t member);

}  // namespace corral::cgroup
