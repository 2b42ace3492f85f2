#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace corral::base {

// One instant on two clocks, in microseconds: CLOCK_REALTIME for people, CLOCK_MONOTONIC for
// differences (clock_gettime(2)). Both 0: it has not happened.
struct Moment {
  uint64_t realtime_usec = 0;
  uint64_t monotonic_usec = 0;

  static Moment now();
  explicit operator bool() const { return monotonic_usec != 0; }
  friend bool operator==(const Moment&, const Moment&) = default;
};

// The time from `earlier` to `later` on the monotonic clock; 0 where it would be negative.
std::chrono::microseconds between(const Moment& earlier, const Moment& later);

// The boot's id, 32 hex digits (/proc/sys/kernel/random/boot_id, random(4)).
Result<std::string> boot_id();

// 128 random bits as 32 lower-case hex digits (getrandom(2)).
std::string random_hex();

}  // namespace corral::base
