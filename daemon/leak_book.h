#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "run/process.h"
#include "run/report.h"

namespace corral::daemon {

// The leaks of one run, gathered over the snapshots of its end: the report is their union, since a
// SIGTERM handler may have forked. A process is its pid with its start time.
class LeakBook {
 public:
  // Everyone of the snapshot was sent SIGTERM.
  void asked(std::vector<run::Process> snapshot);
  // Everyone of the snapshot is about to be killed.
  void condemned(std::vector<run::Process> snapshot);
  // Everyone of the snapshot stays where it is: `frozen`, or as it is (`left`), as those of the
  // runs in it.
  void held(std::vector<run::Process> snapshot, run::Outcome outcome,
            std::vector<run::Process> nested);
  // A run in it has ended: what its report says of those that are here counts.
  void nested_ended(const run::Report& nested);
  // Nobody is held any more: who was, and was not asked to go, went by itself.
  void nobody_held();
  // Moved to a run of its own, or never part of the end, by this rule.
  void kept(std::vector<run::Process> processes, const std::string& rule);
  // Found outside work/: killed with the whole directory, and reported with the rule "stranger".
  void strangers(std::vector<run::Process> snapshot);
  // Killed and still there. The driver (0: it has gone) is shown with the rule "driver", and is not
  // counted as found.
  void stuck(std::vector<run::Process> snapshot, pid_t driver);
  // Nobody is left: who was stuck was killed, and the driver is no leak.
  void nobody_stuck();
  // Sits elsewhere by now; not touched. Its rule says how that is known.
  void escaped(run::Process process);

  size_t size() const { return entries_.size(); }
  // How many are not of a run in it.
  size_t own() const;
  // Counts and the ranked rows into the report, with the outcomes as far as they are known. May be
  // called again.
  void write_to(run::Report& report) const;

 private:
  using Key = std::pair<uint32_t, uint64_t>;
  void add(std::vector<run::Process> snapshot, run::Outcome outcome, const std::string& rule);
  std::map<Key, run::Process> entries_;
};

}  // namespace corral::daemon
