#pragma once

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "run/words.h"

namespace corral::run {

// How a run may end.
struct Policy {
  OnDriverExit on_driver_exit = OnDriverExit::kill;
  std::chrono::microseconds settle =
      std::chrono::milliseconds{200};  // after the driver's exit, for helpers
  std::chrono::microseconds grace = std::chrono::seconds{5};  // from the first signal to the kill
  int term_signal = SIGTERM;  // what the driver is asked with when the run is to end
  std::optional<std::chrono::microseconds> runtime_max = {};  // from the start; absent: no deadline
  std::optional<std::chrono::microseconds> hold_max = {};     // of holding; absent: for ever
  std::optional<std::chrono::microseconds> lease = {};  // to be renewed within; absent: no lease
  Enforcement enforcement = Enforcement::enforce;
  // Globs (glob(7), * takes any / too) on the paths of executables.
  std::vector<std::string> keep = {};

  friend bool operator==(const Policy&, const Policy&) = default;
};

// As each_field() of a Report: what is shown of it. Enforcement is not among it: what holds is the
// service's word, too, and stands in the report.
template <typename P, typename F>
void each_policy(P& p, F&& f) {
  f("OnDriverExit", p.on_driver_exit);
  f("SettleUSec", p.settle);
  f("GraceUSec", p.grace);
  f("RuntimeMaxUSec", p.runtime_max);
  f("HoldMaxUSec", p.hold_max);
  f("LeaseUSec", p.lease);
  f("Keep", p.keep);
}

}  // namespace corral::run
