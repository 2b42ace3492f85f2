#pragma once

#include <chrono>
#include <csignal>

#include "run/words.h"

namespace corral::run {

// How a run may end.
struct Policy {
  OnDriverExit on_driver_exit = OnDriverExit::kill;
  std::chrono::microseconds settle =
      std::chrono::milliseconds{200};  // after the driver's exit, for helpers
  std::chrono::microseconds grace = std::chrono::seconds{5};  // from the first signal to the kill
  int term_signal = SIGTERM;  // what the driver is asked with when the run is to end

  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace corral::run
