#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace corral::bench {

using Duration = std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

// Durations of the same thing, done again and again.
class Samples {
 public:
  void add(Duration duration) { all_.push_back(duration); }
  size_t size() const { return all_.size(); }
  // The smallest that no more than `percent` of them are below; 0 where there is none.
  Duration percentile(unsigned percent) const;

 private:
  std::vector<Duration> all_;
};

// Samples of the bare kernel and of the service, taken in turns, so that whatever else the machine
// does hits both alike.
struct Pair {
  std::string what;
  Samples bare, service;

  double ratio() const;  // of the medians; 0 without samples
};

// One line for the bare samples, one for the service's.
void print(const Pair& pair);

}  // namespace corral::bench
