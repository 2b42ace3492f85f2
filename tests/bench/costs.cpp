#include <fmt/format.h>

#include <exception>
#include <string_view>
#include <vector>

#include "bench/calls.h"
#include "bench/footprint.h"

// What does not come as a ratio: bench_costs calls|idle|memory|snapshot...
int main(int argc, char** argv) try {
  using namespace corral;
  for (const std::string_view what : std::vector<std::string_view>(argv + 1, argv + argc)) {
    if (what == "calls") {
      bench::count_calls();
    } else if (what == "idle") {
      bench::count_idle_calls();
    } else if (what == "memory") {
      bench::measure_memory();
    } else if (what == "snapshot") {
      bench::measure_snapshot();
    } else {
      fmt::print(stderr, "usage: bench_costs [calls] [idle] [memory] [snapshot]\n");
      return 2;
    }
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_costs: {}\n", error.what());
  return 1;
}
