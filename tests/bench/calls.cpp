#include "bench/calls.h"

#include <fmt/format.h>
#include <csignal>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "bench/live_runs.h"
#include "bench/trace.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral::bench {
namespace {

using harness::must;
using Calls = std::map<pid_t, std::vector<std::string>>;

// For the lines of strace, the syncer's delay and the janitor to come in.
constexpr std::chrono::milliseconds kAfterwards{700};
constexpr std::chrono::seconds kIdle{10};
constexpr unsigned kLiveRuns = 100;

// Longer is no other result: nothing is waited for but silence.
void let_it_settle() {
  std::this_thread::sleep_for(kAfterwards);
}

void print(const char* whose, const std::vector<std::string>& calls) {
  fmt::print("  {:<12} {:>4}: {}\n", whose, calls.size(), summary(calls));
}

// A service under strace, once warm.
class Traced {
 public:
  Traced() : stack_({.start = false}) {
    stack_.options().corrald_wrapper = corrald_.wrapper();
    stack_.options().spawner_wrapper = spawner_.wrapper();
    stack_.start_bus();
    stack_.start_spawner();
    stack_.start_corrald();
    for (const char* id : {"warm-1", "warm-2"}) {
      must(stack_.client().start_run(id, {CORRAL_BENCH_DRIVER}));
      must(stack_.client().end_run(id, {{"GraceUSec", uint64_t{0}}}));
    }
    forget();
  }

  harness::Client& client() { return stack_.client(); }
  void forget() {
    let_it_settle();
    (void)corrald_.take();
    (void)spawner_.take();
  }
  // What was called since the last look.
  void print_calls(const char* what) {
    let_it_settle();
    fmt::print("{}\n", what);
    for (const auto& [pid, calls] : corrald_.take())
      print(pid == stack_.corrald_pid() ? "corrald" : "its threads", calls);
    for (auto& [pid, calls] : spawner_.take()) print_child(pid, calls);
  }

 private:
  // Who executes is the driver, and its calls from there on are its own affair.
  void print_child(pid_t pid, std::vector<std::string>& calls) {
    const auto exec = std::ranges::find(calls, "execve");
    if (pid == stack_.spawner_pid()) return print("spawner", calls);
    if (exec == calls.end()) return print("supervisor", calls);
    calls.erase(exec + 1, calls.end());
    print("driver", calls);
  }

  harness::TempDir temp_;
  Trace corrald_{temp_ / "corrald"}, spawner_{temp_ / "spawner"};
  harness::Stack stack_;
};

}  // namespace

void count_calls() {
  Traced service;
  must(service.client().start_run("a", {CORRAL_BENCH_DRIVER}));
  service.print_calls("one start");
  must(service.client().end_run("a", {{"GraceUSec", uint64_t{0}}}));
  service.print_calls("one end by request without grace, of one process, and its proof");
  must(service.client().start_run("b", {CORRAL_MISBEHAVE, "--stay", "setsid", "1"}));
  service.forget();
  must(service.client().signal_run("b", "driver", SIGTERM));
  must(service.client().wait_run("b"));
  service.print_calls("one natural end with one leak, its report and its proof");
}

void count_idle_calls() {
  harness::TempDir temp;
  Trace trace(temp / "corrald");
  harness::Stack stack({.corrald_wrapper = trace.wrapper()});
  const LiveRuns runs(stack, kLiveRuns);
  let_it_settle();
  (void)trace.take();
  std::this_thread::sleep_for(kIdle);
  const Calls calls = trace.take();
  fmt::print("system calls of corrald in {} s with {} live runs: {}\n", kIdle.count(), kLiveRuns,
             calls.empty() ? "none" : summary(calls.begin()->second));
  if (!calls.empty()) throw std::runtime_error("an idle corrald calls the kernel");
}

}  // namespace corral::bench
