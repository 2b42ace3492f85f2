#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "service_test.h"

namespace corral::test {

// How a driver is, and what it leaves.
struct Shape {
  std::string name;
  std::vector<std::string> argv;
  bool ready = false;              // says so on its standard output
  std::vector<Exit> natural = {};  // how it may exit by itself, or asked
  bool ignores_term = false;       // once it is ready
  unsigned leaves = 0;             // processes that stay when it has gone
  unsigned stubborn = 0;           // of these, who ignore SIGTERM
  unsigned most = 0;               // processes beside it that there may ever be
};
// Every shape that there is.
const std::vector<Shape>& shapes();

// One run as its test knows it: what was done to it, and what the service may therefore say of it.
// Each act is told before it is done. Nothing here asks the service.
struct RunModel {
  std::string id, invocation, path;
  std::string group;   // its directory
  std::string parent;  // the id of the run that it is nested in
  std::string owner, policy = "kill";
  bool kept = false, unstarted = false;
  bool own_observe = false;           // its own word now
  bool was_observed = false;          // and once
  std::set<std::string> enforcement;  // the words that held while it lived
  bool may_hold = false;              // a policy, or someone who only looked on
  bool may_keep = false;              // something of it may be spared
  bool nests = false;                 // there were runs in it, whose leaks are its own too
  unsigned released = 0;
  bool may_be_unseen = false;  // nobody was left to tell how the driver went
  bool ignores_term = false;
  bool quiet = true;           // nothing was done to it
  bool restarted = false;      // the service, since its state was seen
  bool was_restarted = false;  // and at any time
  unsigned leaves = 0, stubborn = 0, most_leaks = 0;
  std::vector<Exit> exits;
  std::set<std::string> reasons;
  std::string state;  // as it was last seen
  std::optional<cgroup::Pidfd> driver;
  std::optional<Dict> told;  // the report that EndRun replied with

  bool ended() const { return state == "ended"; }
  // An end began before, so that no later one gives it another reason.
  bool ending() const { return state == "ending" || state == "holding" || ended(); }
  bool driver_lives() const { return driver && !driver->exited(); }

  void shape(const Shape& shape);
  // Something is done to it, which changes nothing once it has ended.
  void disturb() { quiet = quiet && ended(); }
  // It may be signalled at any time, or was.
  void may_be_asked();
  // An end is asked for, now or soon.
  void ask(const std::string& reason);
  // The driver is killed.
  void kill_driver();
  void restart();
  // What is done to it now, to be told before and after each switch.
  void enforced(bool observed);
  // Whether it may say so now; takes it as seen.
  testing::AssertionResult see(const std::string& now);
  // Fails the running test where the report is not of those that are allowed.
  void check(const Dict& report) const;

 private:
  void check_exit(const Dict& report) const;
  void check_reason(const Dict& report) const;
  void check_counts(const Dict& report) const;
  void check_quiet(const Dict& report) const;
};

}  // namespace corral::test
