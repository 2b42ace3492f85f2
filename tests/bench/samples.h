#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
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

// Of the medians; 0 without samples of the limit.
double ratio(const Samples& samples, const Samples& limit);

// Samples of the bare kernel and of the service, taken in turns, so that whatever else the machine
// does hits both alike.
struct Pair {
  std::string what;
  Samples bare, service;

  double ratio() const { return bench::ratio(service, bare); }
};

// The kernel, and the titles of the columns of all lines below it, `ratios` last.
void print_head(std::initializer_list<std::string_view> ratios);
// One line: `what`, how many there are, p10, p50 and p90 in milliseconds, and the ratios.
void print(const std::string& what, const Samples& samples, std::initializer_list<double> ratios);
// One line for the bare samples, one for the service's.
void print(const Pair& pair);

}  // namespace corral::bench
