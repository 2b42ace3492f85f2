#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <random>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/noise.h"
#include "bench/samples.h"
#include "harness/stack.h"

extern char** environ;

namespace corral::bench {
namespace {

constexpr unsigned kWarmUps = 5;
// What service and system manager do when the command has returned is no part of the next sample.
constexpr std::chrono::milliseconds kPause{20};

// A way to have true(1) executed.
struct Way {
  std::string what;
  std::vector<std::string> before;  // of the command line
  Samples samples = {};
};

// From the fork until it is reaped; throws unless it exits with 0.
Duration execute(const std::vector<std::string>& before) {
  std::vector<char*> argv;
  for (const auto& word : before) argv.push_back(const_cast<char*>(word.c_str()));
  std::string command = "true";
  argv.push_back(command.data());
  argv.push_back(nullptr);
  const auto begun = Clock::now();
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ);
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  const auto took = Clock::now() - begun;
  if (status != 0) throw std::runtime_error(fmt::format("{}: wait status {}", argv[0], status));
  return took;
}

// Each way once a round, in an order that is another one each round: none always follows the same.
void take_samples(std::vector<Way>& ways, unsigned rounds) {
  std::mt19937 random;
  std::vector<Way*> order;
  for (auto& way : ways) order.push_back(&way);
  for (unsigned i = 0; i < kWarmUps + rounds; ++i) {
    std::shuffle(order.begin(), order.end(), random);
    for (Way* way : order) {
      const Duration took = execute(way->before);
      if (i >= kWarmUps) way->samples.add(took);
      std::this_thread::sleep_for(kPause);
    }
  }
}

int run(unsigned rounds) {
  harness::Stack stack;
  const std::string corralctl = harness::corralctl_path();
  // As sd_booted(3) has it.
  const bool booted = access("/run/systemd/system", F_OK) == 0;
  std::vector<Way> ways = {
      {"true", {}},
      {"corralctl run -- true", {corralctl, "--bus", stack.address(), "run", "--"}},
      {"corralctl --embedded run -- true", {corralctl, "--embedded", "run", "--"}}};
  if (booted)
    ways.push_back({"systemd-run --scope -- true", {"systemd-run", "--scope", "--quiet", "--"}});
  print_head({"/ true", "/ scope"});
  const Noise noise;
  take_samples(ways, rounds);
  const auto around = noise.describe(ways[0].samples);
  const Samples scope = booted ? ways.back().samples : Samples{};
  for (const auto& [what, before, samples] : ways)
    print(what, samples, {ratio(samples, ways[0].samples), ratio(samples, scope)});
  fmt::print("\n{}\n", around);
  if (!booted) fmt::print("no booted systemd to compare with: see tests/systemd/boot\n");
  return 0;
}

}  // namespace
}  // namespace corral::bench

// What a run in front of a command costs, against the command alone and in a scope of systemd's.
int main(int argc, char** argv) try {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return corral::bench::run(250);
  if (arguments == std::vector<std::string_view>{"--quick"}) return corral::bench::run(5);
  fmt::print(stderr, "usage: bench_run [--quick]\n");
  return 2;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench_run: {}\n", error.what());
  return 1;
}
