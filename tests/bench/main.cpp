#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "bench/bare_process.h"
#include "bench/ends.h"
#include "bench/noise.h"
#include "bench/starts.h"
#include "harness/stack.h"

namespace corral::bench {
namespace {

// The most that a start by the service may cost, in bare starts.
constexpr double kMostRatio = 2.5;
constexpr size_t kFewest = 50;

enum class Mode { full, quick };

void measure_and_print_ends(harness::Stack& stack, BareProcess& bare, Mode mode) {
  using std::chrono::seconds;
  if (mode == Mode::quick) return print(measure_ends(stack, bare, 200, {1, seconds{1}}));
  print(measure_ends(stack, bare, 1'000, {9, seconds{12}}));
  print(measure_ends(stack, bare, 10'000, {3, seconds{15}}));
}

// A full run fails where the start costs too much; a quick one shows that it can be measured.
int run(Mode mode) {
  harness::Stack stack;
  BareProcess bare(stack.scratch().make("bare").name());
  print_head({"ratio"});
  const Noise noise;
  const Amount starts = mode == Mode::quick ? Amount{20, std::chrono::seconds{4}}
                                            : Amount{400, std::chrono::seconds{20}};
  const Pair start = measure_starts(stack, bare, starts);
  const auto around = noise.describe(start.bare);
  print(start);
  (void)std::fflush(stdout);
  measure_and_print_ends(stack, bare, mode);
  fmt::print("\n{}\n", around);
  if (mode == Mode::quick) return 0;
  if (start.bare.size() < kFewest) {
    fmt::print(stderr, "{} starts are too few to judge by: {}\n", start.bare.size(), around);
    return 1;
  }
  if (start.ratio() <= kMostRatio) return 0;
  fmt::print(stderr, "StartRun takes {:.2f} times the bare start, more than {}: {}\n",
             start.ratio(), kMostRatio, around);
  return 1;
}

}  // namespace
}  // namespace corral::bench

int main(int argc, char** argv) try {
  using corral::bench::Mode;
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return corral::bench::run(Mode::full);
  if (arguments == std::vector<std::string_view>{"--quick"}) return corral::bench::run(Mode::quick);
  fmt::print(stderr, "usage: bench [--quick]\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench: {}\n", error.what());
  return 1;
}
