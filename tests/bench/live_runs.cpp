#include "bench/live_runs.h"

#include <fcntl.h>

#include "cgroup/processes.h"

namespace corral::bench {
namespace {

std::string name_of(size_t number) {
  return "live-" + std::to_string(number);
}

}  // namespace

LiveRuns::LiveRuns(harness::Stack& stack, unsigned count) : stack_(stack) {
  for (unsigned i = 0; i < count; ++i)
    runs_.push_back(harness::must(stack_.client().start_run(name_of(i), {CORRAL_BENCH_DRIVER})));
}

LiveRuns::~LiveRuns() {
  for (size_t i = 0; i < runs_.size(); ++i)
    (void)stack_.client().end_run(name_of(i),
                                  {{"GraceUSec", uint64_t{0}}});  // Stack sees to the rest
}

std::vector<pid_t> LiveRuns::supervisors() const {
  std::vector<pid_t> pids;
  for (size_t i = 0; i < runs_.size(); ++i) {
    const auto init = harness::must(cgroup::Group::open(
        AT_FDCWD, stack_.runs() + "/" + name_of(i) + "." + runs_[i].invocation + "/init"));
    for (const auto& member : harness::must(cgroup::members(init))) pids.push_back(member.pid);
  }
  return pids;
}

}  // namespace corral::bench
