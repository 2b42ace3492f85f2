#include "model_run.h"

#include <sys/wait.h>

#include "cgroup/exit_info.h"

namespace corral::test {
namespace {

using testing::AssertionFailure;
using testing::AssertionSuccess;
using testing::Contains;
using testing::IsSupersetOf;

std::vector<std::string> script(const std::string& text) {
  return {"/bin/sh", "-c", text};
}
Exit exited(int32_t code) {
  return {code == 0 ? "success" : "exit-code", "exited", code};
}
Exit killed(int32_t signal) {
  return {"signal", "killed", signal};
}
const Exit kUnseen{"unknown", "unknown", 0};
const std::string kTool = CORRAL_MISBEHAVE;

// Those that exit by themselves, stay, or hear SIGTERM in their own way.
std::vector<Shape> plain() {
  return {
      {.name = "exits", .argv = script("exit 3"), .natural = {exited(3)}},
      {.name = "exits soon",
       .argv = script("sleep 0.02; exit 4"),
       .natural = {exited(4)},
       .most = 1},
      {.name = "leaves two",
       .argv = script("sleep 100 & setsid sleep 100 & exit 0"),
       .natural = {exited(0)},
       .leaves = 2,
       .most = 2},
      {.name = "stays", .argv = {"sleep", "100"}},
      {.name = "stays with jobs", .argv = {kTool, "--stay", "jobs", "2"}, .ready = true, .most = 2},
      {.name = "ignores SIGTERM",
       .argv = {kTool, "--stay", "ignore-term"},
       .ready = true,
       .ignores_term = true,
       .most = 1},
      {.name = "handles SIGTERM",
       .argv = script("trap 'exit 5' TERM; sleep 100 & echo ready; wait; exit 6"),
       .ready = true,
       .natural = {exited(5), exited(6)},
       .most = 1},
  };
}
// Those that exit at once, and leave a process that is hard to end.
std::vector<Shape> leaving() {
  return {
      {.name = "leaves who ignores SIGTERM",
       .argv = {kTool, "ignore-term"},
       .natural = {exited(0)},
       .leaves = 1,
       .stubborn = 1,
       .most = 1},
      {.name = "leaves who forks on SIGTERM",
       .argv = {kTool, "term-forks"},
       .natural = {exited(0)},
       .most = 2},
      {.name = "leaves who has stopped",
       .argv = {kTool, "stopped"},
       .natural = {exited(0)},
       .leaves = 1,
       .most = 1},
      {.name = "leaves who is frozen",
       .argv = {kTool, "freeze-inner"},
       .natural = {exited(0)},
       .leaves = 1,
       .most = 1},
  };
}

uint64_t number(const Dict& report, const char* key) {
  return value<uint64_t>(report, key);
}

// How it went, by the kernel's word; nullopt where it lives, and where the kernel is older than
// 6.15 and it was reaped.
std::optional<Exit> exit_of(const cgroup::Pidfd& process) {
  auto status = cgroup::zombie_status(process);
  if (!status) status = cgroup::exit_info(process);
  if (!status) return std::nullopt;
  if (WIFEXITED(*status)) return exited(WEXITSTATUS(*status));
  if (WCOREDUMP(*status)) return Exit{"core-dump", "dumped", WTERMSIG(*status)};
  return killed(WTERMSIG(*status));
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = [] {
    auto both = plain();
    for (auto& shape : leaving()) both.push_back(std::move(shape));
    return both;
  }();
  return all;
}

void RunModel::shape(const Shape& shape) {
  exits = shape.natural;
  ignores_term = shape.ignores_term;
  leaves = shape.leaves;
  stubborn = shape.stubborn;
  most_leaks += shape.most;
  if (!shape.natural.empty()) reasons.insert("driver-exited");
}

void RunModel::may_be_asked() {
  if (!ignores_term) exits.push_back(killed(SIGTERM));
  exits.push_back(killed(SIGKILL));
}

void RunModel::ask(const std::string& reason) {
  disturb();
  if (!ending()) reasons.insert(reason);
  if (driver_lives()) may_be_asked();
}

void RunModel::kill_driver() {
  disturb();
  reasons.insert("driver-exited");
  exits.push_back(killed(SIGKILL));
}

void RunModel::restart() {
  disturb();
  if (!ended()) restarted = was_restarted = true;
}

void RunModel::enforced(bool observed) {
  if (ended()) return;
  enforcement.insert(observed ? "observe" : "enforce");
  may_hold = may_hold || observed;
}

testing::AssertionResult RunModel::see(const std::string& now) {
  const auto was = state;
  state = now;
  const bool anew = std::exchange(restarted, false);
  const auto wrong = [&](const char* why) {
    return AssertionFailure() << id << " was " << was << " and is " << now << ": " << why;
  };
  if (was == "ended" && now != "ended") return wrong("an end is final");
  if (now == "ended" && driver_lives()) return wrong("its driver lives");
  if (now == "starting" && was != "starting") return wrong("its driver executed");
  // A settling run that the service before this one looked at is found running.
  if (now == "running" && (was == "ending" || was == "holding") && !anew)
    return wrong("no end is taken back");
  if (now == "holding" && !may_hold) return wrong("nothing holds it");
  return AssertionSuccess();
}

void RunModel::check(const Dict& report) const {
  SCOPED_TRACE("the report of " + id + ", " + invocation);
  EXPECT_EQ(value<std::string>(report, "State"), "ended");
  EXPECT_EQ(value<std::string>(report, "Id"), id);
  EXPECT_EQ(value<std::string>(report, "Invocation"), invocation);
  EXPECT_EQ(value<std::string>(report, "Owner"), owner);
  EXPECT_EQ(value<std::string>(report, "Kind"), kept ? "kept" : "driver");
  EXPECT_GE(number(report, "EndTimestampMonotonic"), number(report, "StartTimestampMonotonic"));
  check_exit(report);
  check_reason(report);
  check_counts(report);
  if (quiet && !unstarted) check_quiet(report);
  if (told) {
    EXPECT_EQ(exit_of(*told), exit_of(report)) << "EndRun said so";
    EXPECT_EQ(counts(*told), counts(report)) << "EndRun said so";
    EXPECT_EQ(value<std::string>(*told, "EndReason"), value<std::string>(report, "EndReason"));
  }
}

// How the driver really went, where the kernel still tells; else one of the ways that it may have.
void RunModel::check_exit(const Dict& report) const {
  const auto said = exit_of(report);
  const auto real = driver ? exit_of(*driver) : std::nullopt;
  auto allowed = real ? std::vector<Exit>{*real} : exits;
  if (may_be_unseen || kept) allowed.push_back(kUnseen);
  if (unstarted && !real) allowed.push_back({"start-failed", "", 0});
  EXPECT_THAT(allowed, Contains(said));
  if (real) {
    EXPECT_THAT(exits, Contains(*real)) << "by the kernel's word";
  }
  EXPECT_EQ(value<std::string>(report, "UnknownReason").empty(), said.exit != "unknown");
  if (said.result == "start-failed") {
    EXPECT_NE(value<std::string>(report, "EndMessage"), "");
  } else if (!kept) {
    EXPECT_GE(number(report, "DriverExitTimestampMonotonic"),
              number(report, "StartTimestampMonotonic"));
    EXPECT_GE(number(report, "EndTimestampMonotonic"),
              number(report, "DriverExitTimestampMonotonic"));
  }
}

void RunModel::check_reason(const Dict& report) const {
  const auto reason = value<std::string>(report, "EndReason");
  auto allowed = reasons;
  if (unstarted && exit_of(report).result == "start-failed") allowed.insert("");
  EXPECT_THAT(allowed, Contains(reason));
  // Of one that was only looked on, who ended it after all may be another, or nobody.
  if (reason == "requested" && !enforcement.contains("observe")) {
    EXPECT_THAT(value<std::string>(report, "EndedBy"),
                testing::StartsWith("uid 0, pid " + std::to_string(getpid()) + " ("));
  }
  EXPECT_THAT(enforcement, Contains(value<std::string>(report, "Enforcement")));
}

void RunModel::check_counts(const Dict& report) const {
  const auto outcomes = column(test::leaks(report), "Outcome");
  const auto found = number(report, "LeaksFound");
  const auto of = [&](const char* outcome) {
    return static_cast<uint64_t>(std::ranges::count(outcomes, outcome));
  };
  EXPECT_EQ(found, outcomes.size() + number(report, "LeaksOmitted"));
  EXPECT_EQ(number(report, "Terminated"), of("term"));
  EXPECT_EQ(number(report, "Killed"), of("kill"));
  EXPECT_EQ(number(report, "Kept"), of("kept"));
  EXPECT_EQ(number(report, "Escaped"), 0U);
  EXPECT_EQ(number(report, "Stuck"), 0U);
  std::vector<std::string> all = {"term", "kill"};
  if (may_keep || nests) all.emplace_back("kept");
  if (may_hold || nests) all.emplace_back("exited");
  EXPECT_THAT(outcomes, testing::Each(testing::AnyOfArray(all))) << "nobody is left of it";
  if (!was_restarted) {
    EXPECT_GE(of("kept"), released);
  }
  if (!kept) {
    EXPECT_LE(found, most_leaks);
  }
}

// Nobody did anything to it: its end is its own, and its policy's.
void RunModel::check_quiet(const Dict& report) const {
  EXPECT_EQ(value<std::string>(report, "EndReason"), "driver-exited");
  EXPECT_GE(number(report, "LeaksFound"), leaves);
  const bool is_plain = policy == "kill" && !may_hold && !may_keep;
  if (is_plain) {
    EXPECT_GE(number(report, "Killed"), stubborn);
    EXPECT_EQ(value<std::string>(report, "EndedBy"), "");
  }
}

}  // namespace corral::test
