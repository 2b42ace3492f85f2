#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>
#include <vector>

#include "bench/calls.h"
#include "bench/footprint.h"

namespace {

struct Cost {
  std::string_view name;
  void (*measure)();
};

constexpr std::array kCosts = {
    Cost{"calls", corral::bench::count_calls},
    Cost{"idle", corral::bench::count_idle_calls},
    Cost{"memory", corral::bench::measure_memory},
    Cost{"snapshot", corral::bench::measure_snapshot},
};

}  // namespace

// What does not come as a ratio: those that are named, or all.
int main(int argc, char** argv) try {
  const std::vector<std::string_view> names(argv + 1, argv + argc);
  for (const auto name : names) {
    if (std::ranges::find(kCosts, name, &Cost::name) != kCosts.end()) continue;
    fmt::print(stderr, "usage: bench_costs [calls] [idle] [memory] [snapshot]\n");
    return 2;
  }
  for (const auto& cost : kCosts) {
    if (names.empty() || std::ranges::find(names, cost.name) != names.end()) cost.measure();
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_costs: {}\n", error.what());
  return 1;
}
