#include "model_run.h"

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

std::vector<Shape> make_shapes() {
  const std::string tool = CORRAL_MISBEHAVE;
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
      {.name = "stays with jobs", .argv = {tool, "--stay", "jobs", "2"}, .ready = true, .most = 2},
      {.name = "ignores SIGTERM",
       .argv = {tool, "--stay", "ignore-term"},
       .ready = true,
       .ignores_term = true,
       .most = 1},
      {.name = "handles SIGTERM",
       .argv = script("trap 'exit 5' TERM; sleep 100 & echo ready; wait; exit 6"),
       .ready = true,
       .natural = {exited(5), exited(6)},
       .most = 1},
      {.name = "leaves who ignores SIGTERM",
       .argv = {tool, "ignore-term"},
       .natural = {exited(0)},
       .leaves = 1,
       .most = 1},
      {.name = "leaves who forks on SIGTERM",
       .argv = {tool, "term-forks"},
       .natural = {exited(0)},
       .most = 2},
      {.name = "leaves who has stopped",
       .argv = {tool, "stopped"},
       .natural = {exited(0)},
       .leaves = 1,
       .most = 1},
      {.name = "leaves who is frozen",
       .argv = {tool, "freeze-inner"},
       .natural = {exited(0)},
       .leaves = 1,
       .most = 1},
  };
}

uint64_t number(const Dict& report, const char* key) {
  return value<uint64_t>(report, key);
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = make_shapes();
  return all;
}

void RunModel::shape(const Shape& shape) {
  exits = shape.natural;
  ignores_term = shape.ignores_term;
  leaves = shape.leaves;
  most_leaks += shape.most;
  if (!shape.natural.empty()) reasons.insert("driver-exited");
}

void RunModel::may_be_asked() {
  if (!ignores_term) exits.push_back(killed(SIGTERM));
  exits.push_back(killed(SIGKILL));
}

void RunModel::ask(const std::string& reason) {
  quiet = false;
  if (!ending()) reasons.insert(reason);
  if (driver_lives()) may_be_asked();
}

void RunModel::kill_driver() {
  quiet = false;
  reasons.insert("driver-exited");
  exits.push_back(killed(SIGKILL));
}

testing::AssertionResult RunModel::see(const std::string& now) {
  const auto was = state;
  state = now;
  const bool anew = std::exchange(restarted, false);
  const auto wrong = [&](const char* why) {
    return AssertionFailure() << id << " was " << was << " and is " << now << ": " << why;
  };
  if (was == "ended" && now != "ended") return wrong("an end is final");
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
  EXPECT_EQ(value<std::string>(report, "Invocation"), invocation);
  const auto reason = value<std::string>(report, "EndReason");
  const auto exit = exit_of(report);
  auto allowed = exits;
  if (may_be_unseen || kept) allowed.push_back(kUnseen);
  if (unstarted) allowed.push_back({"start-failed", "", 0});
  EXPECT_THAT(allowed, Contains(exit));
  if (!unstarted) {
    EXPECT_THAT(reasons, Contains(reason));
  }
  EXPECT_EQ(value<std::string>(report, "UnknownReason").empty(), exit.exit != "unknown");
  EXPECT_GE(number(report, "EndTimestampMonotonic"), number(report, "StartTimestampMonotonic"));
  check_counts(report);
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
  const std::vector<std::string> all = {"term", "kill", "kept", "exited"};
  EXPECT_THAT(outcomes, testing::Each(testing::AnyOfArray(all))) << "nobody is left of it";
  if (!kept) {
    EXPECT_LE(found, most_leaks);
  }
  if (quiet && !kept && !unstarted) {
    EXPECT_GE(found, leaves);
  }
}

}  // namespace corral::test
