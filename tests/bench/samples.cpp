#include "bench/samples.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

namespace corral::bench {
namespace {

double milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

Duration Samples::percentile(unsigned percent) const {
  if (all_.empty()) return {};
  auto sorted = all_;
  std::sort(sorted.begin(), sorted.end());
  return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

double ratio(const Samples& samples, const Samples& limit) {
  const auto least = limit.percentile(50).count();
  return least == 0
             ? 0
             : static_cast<double>(samples.percentile(50).count()) / static_cast<double>(least);
}

void print_head(std::initializer_list<std::string_view> ratios) {
  utsname kernel{};
  (void)uname(&kernel);
  fmt::print("Linux {}; samples in turns, milliseconds\n\n", kernel.release);
  fmt::print("{:<34} {:>5} {:>10} {:>10} {:>10}", "", "n", "p10", "p50", "p90");
  for (const auto title : ratios) fmt::print(" {:>7}", title);
  fmt::print("\n");
}

void print(const std::string& what, const Samples& samples, std::initializer_list<double> ratios) {
  fmt::print("{:<34} {:>5} {:>10.3f} {:>10.3f} {:>10.3f}", what, samples.size(),
             milliseconds(samples.percentile(10)), milliseconds(samples.percentile(50)),
             milliseconds(samples.percentile(90)));
  for (const double ratio : ratios) fmt::print(" {:>7.2f}", ratio);
  fmt::print("\n");
}

void print(const Pair& pair) {
  print(pair.what + ", bare", pair.bare, {});
  print(pair.what + ", service", pair.service, {pair.ratio()});
}

}  // namespace corral::bench
