#pragma once

#include <chrono>
#include <string>

#include "bench/samples.h"

namespace corral::bench {

// What else the machine did: how long some task was ready to run and no processor free for it
// (/proc/pressure/cpu), from its construction on.
class Noise {
 public:
  Noise();
  // In words, with the spread of the bare samples, which do the same again and again.
  std::string describe(const Samples& bare) const;

 private:
  Clock::time_point begun_;
  std::chrono::microseconds waited_;
};

}  // namespace corral::bench
