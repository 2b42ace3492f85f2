#include "bench/samples.h"

#include <fmt/format.h>

#include <algorithm>

namespace corral::bench {
namespace {

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void print_row(const std::string& what, const Samples& samples) {
  fmt::print("{:<34} {:>5} {:>10.3f} {:>10.3f} {:>10.3f}", what, samples.size(),
             milliseconds(samples.percentile(10)), milliseconds(samples.percentile(50)),
             milliseconds(samples.percentile(90)));
}

}  // namespace

Duration Samples::percentile(unsigned percent) const {
  if (all_.empty()) return {};
  auto sorted = all_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

double Pair::ratio() const {
  const auto limit = bare.percentile(50).count();
  return limit == 0
             ? 0
             : static_cast<double>(service.percentile(50).count()) / static_cast<double>(limit);
}

void print(const Pair& pair) {
  print_row(pair.what + ", bare", pair.bare);
  fmt::print("\n");
  print_row(pair.what + ", service", pair.service);
  fmt::print(" {:>7.2f}\n", pair.ratio());
}

}  // namespace corral::bench
