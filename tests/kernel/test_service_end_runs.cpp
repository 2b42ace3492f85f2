#include "service_test.h"

namespace corral::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// EndRuns: what it chooses, and what becomes of that.
class ServiceEndRuns : public ServiceTest {
 protected:
  void sleeper(const std::string& id, Dict options = {}) {
    start(id, {"sleep", "100"}, std::move(options));
  }
  void hold(const std::string& id, const std::string& script) {
    start(id, shell(script),
          {{"OnDriverExit", std::string("report")}, {"SettleUSec", uint64_t{0}}});
    ASSERT_TRUE(client().wait_state(id, "holding"));
  }
  std::vector<std::string> would_end(Dict filter) {
    filter["DryRun"] = sdbus::Variant(true);
    const auto rows = must(client().end_runs(filter));
    EXPECT_THAT(column(rows, "Outcome"), Each("would-end"));
    return column(rows, "Id");
  }
  // Ended, all of them; their ids.
  std::vector<std::string> ends(const Dict& filter) {
    const auto rows = must(client().end_runs(filter));
    EXPECT_THAT(column(rows, "Outcome"), Each("ended"));
    EXPECT_THAT(column(rows, "State"), Each("ended"));
    for (const auto& id : column(rows, "Id")) EXPECT_EQ(property(id, "State"), "ended") << id;
    return column(rows, "Id");
  }
  // That many runs of the names are left; ends them.
  std::vector<std::string> rest() { return ends({}); }
};

TEST_F(ServiceEndRuns, ADryRunNamesWhatIsEndedAndTouchesNothing) {
  sleeper("a", {{"Owner", std::string("mine")}});
  hold("b", "sleep 100 & sleep 100 & exit 0");
  must(client().set_run("b", {{"Owner", std::string("mine")}}));
  sleeper("c", {{"Owner", std::string("theirs")}});
  const auto held = pidfds("b");
  const Dict mine = {{"Owner", std::string("mine")}, {"Reason", std::string("night")}};

  auto dry = mine;
  dry["DryRun"] = sdbus::Variant(true);
  const auto rows = must(client().end_runs(dry));
  EXPECT_THAT(column(rows, "Id"), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(column(rows, "State"), UnorderedElementsAre("running", "holding"));
  EXPECT_THAT(column<uint64_t>(rows, "Processes"), UnorderedElementsAre(1U, 2U));
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_EQ(property("a", "EndReason"), "");
  for (const auto& process : held) EXPECT_FALSE(process.exited());

  EXPECT_EQ(ends(mine), column(rows, "Id"));
  for (const auto& process : held) EXPECT_TRUE(process.exited());
  EXPECT_EQ(property("a", "EndMessage"), "night");
  EXPECT_THAT(property("a", "EndedBy"), testing::HasSubstr("pid " + std::to_string(getpid())));
  EXPECT_EQ(property("c", "State"), "running");
  EXPECT_THAT(rest(), ElementsAre("c"));
}

TEST_F(ServiceEndRuns, ChoosesByStateAndLabel) {
  sleeper("a", {{"Labels", std::map<std::string, std::string>{{"k", "v"}}}});
  hold("b", "sleep 100 & exit 0");
  sleeper("c");
  EXPECT_THAT(would_end({{"State", std::string("ending")}}), IsEmpty());
  EXPECT_THAT(ends({{"State", std::string("holding")}}), ElementsAre("b"));
  EXPECT_THAT(ends({{"Label", std::string("k=v")}}), ElementsAre("a"));
  EXPECT_THAT(rest(), ElementsAre("c"));
}

TEST_F(ServiceEndRuns, OlderIsOfTheDriversExitWhereItExited) {
  sleeper("a");
  hold("b", "sleep 1; sleep 100 & exit 0");  // as old as a, and held just now
  const uint64_t age = 900 * kMilliseconds;
  EXPECT_THAT(would_end({{"OlderThanUSec", 3'600'000 * kMilliseconds}}), IsEmpty());
  EXPECT_THAT(would_end({{"OlderThanUSec", age}}), ElementsAre("a"));
  EXPECT_THAT(would_end({{"OlderThanUSec", uint64_t{1}}}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(rest(), UnorderedElementsAre("a", "b"));
}

TEST_F(ServiceEndRuns, ChoosesByParentAndLeavesThat) {
  sleeper("outer");
  for (const char* id : {"x", "y"}) sleeper(id, {{"Parent", std::string("outer")}});
  sleeper("z", {{"Parent", std::string("x")}});
  sleeper("other");
  EXPECT_THAT(ends({{"Parent", std::string("outer")}}), UnorderedElementsAre("x", "y"));
  EXPECT_EQ(property("z", "State"), "ended") << "with what it is nested in";
  EXPECT_EQ(property("outer", "State"), "running");
  EXPECT_THAT(rest(), UnorderedElementsAre("outer", "other"));
}

TEST_F(ServiceEndRuns, WhatIsNestedInOneOfThemEndsWithItAndIsNoRow) {
  sleeper("outer");
  sleeper("inner", {{"Parent", std::string("outer")}});
  EXPECT_THAT(would_end({}), ElementsAre("outer"));
  EXPECT_THAT(rest(), ElementsAre("outer"));
  EXPECT_EQ(property("inner", "EndReason"), "parent-ended");
}

TEST_F(ServiceEndRuns, FromInsideReachesWhatIsNestedThere) {
  sleeper("outer");
  sleeper("inner", {{"Parent", std::string("outer")}});
  sleeper("other");
  EXPECT_TRUE(inside(directory_of("outer"), [](harness::Client& mine) {
    const auto rows = mine.end_runs();
    return rows && column(*rows, "Id") == std::vector<std::string>{"inner"};
  }));
  EXPECT_EQ(property("inner", "State"), "ended");
  EXPECT_EQ(property("inner", "EndReason"), "requested");
  EXPECT_THAT(rest(), UnorderedElementsAre("outer", "other"));
}

TEST_F(ServiceEndRuns, HasTheErrorOfEachThatDidNotEnd) {
  sleeper("a", {{"Enforcement", std::string("observe")}});
  sleeper("b");
  const auto rows = must(client().end_runs());
  std::map<std::string, std::string> outcomes;
  for (const auto& row : rows)
    outcomes[value<std::string>(row, "Id")] = value<std::string>(row, "Outcome");
  EXPECT_THAT(outcomes,
              ElementsAre(testing::Pair("a", std::string(harness::kErrorPrefix) + "Observing"),
                          testing::Pair("b", "ended")));
  must(client().set_run("a", {{"Enforcement", std::string("enforce")}}));
  end("a");
}

TEST_F(ServiceEndRuns, TheGraceIsOfEach) {
  for (const char* id : {"a", "b"}) start_ready(id, stubborn({"--stay", "jobs", "1"}));
  EXPECT_THAT(ends({{"GraceUSec", 100 * kMilliseconds}}), UnorderedElementsAre("a", "b"));
  for (const char* id : {"a", "b"})
    EXPECT_LT(value<uint64_t>(must(client().get_report(id)), "TimeToEmptyUSec"),
              4'000 * kMilliseconds);
}

}  // namespace
}  // namespace corral::test
