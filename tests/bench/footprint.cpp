#include "bench/footprint.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <string>

#include "bench/live_runs.h"
#include "bench/samples.h"
#include "harness/must.h"
#include "harness/signals.h"
#include "harness/stack.h"

namespace corral::bench {
namespace {

using harness::must;

constexpr unsigned kLiveRuns = 100;
constexpr unsigned kLeaks = 10'000;

unsigned pss_kib(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string word; file >> word;) {
    unsigned kib = 0;
    if (word == "Pss:" && file >> kib) return kib;
  }
  throw std::runtime_error(fmt::format("no Pss of pid {}", pid));
}

}  // namespace

void measure_memory() {
  harness::Stack stack;
  const unsigned empty = pss_kib(stack.corrald_pid());
  const LiveRuns runs(stack, kLiveRuns);
  std::vector<unsigned> supervisors;
  for (const pid_t pid : runs.supervisors()) supervisors.push_back(pss_kib(pid));
  std::ranges::sort(supervisors);
  fmt::print("PSS of corrald: {} KiB without runs, {} KiB with {}\n", empty,
             pss_kib(stack.corrald_pid()), kLiveRuns);
  fmt::print("PSS of a supervisor, of {}: median {} KiB, largest {} KiB\n", supervisors.size(),
             supervisors.at(supervisors.size() / 2), supervisors.back());
}

void measure_snapshot() {
  harness::Stack stack;
  harness::SignalRecorder signals(stack.address());
  must(stack.client().start_run("a", {CORRAL_MISBEHAVE, "setsid", std::to_string(kLeaks)},
                                {{"SettleUSec", uint64_t{0}}}));
  if (!signals.wait("DriverExited", "a")) throw std::runtime_error("the driver does not exit");
  const auto exited = Clock::now();
  if (!signals.wait("LeaksFound", "a")) throw std::runtime_error("no leaks are found");
  const std::chrono::duration<double, std::milli> took = Clock::now() - exited;
  fmt::print("from DriverExited to LeaksFound ({}): {:.0f} ms\n", signals.seen().back().number,
             took.count());
  while (!stack.client().wait_state("a", "ended")) continue;
}

}  // namespace corral::bench
