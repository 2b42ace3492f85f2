#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace corral::daemon {

// From now to a point of CLOCK_MONOTONIC; 0 where it has passed.
inline std::chrono::microseconds left_until(uint64_t monotonic_usec) {
  const auto now = base::Moment::now().monotonic_usec;
  return std::chrono::microseconds(monotonic_usec > now ? monotonic_usec - now : 0);
}

}  // namespace corral::daemon
