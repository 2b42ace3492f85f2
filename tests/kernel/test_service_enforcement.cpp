#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using testing::Each;
using testing::ElementsAre;

const std::string kCorral = harness::kErrorPrefix;

// observe: nobody is signalled or frozen by the service, and what would have been is told.
class ServiceEnforcement : public ServiceTest {
 protected:
  void observe() { must(client().set_enforcement("observe")); }
  void enforce() { must(client().set_enforcement("enforce")); }
  Dict report_of(const std::string& id) { return must(client().get_report(id)); }
  static bool all_live(const std::vector<cgroup::Pidfd>& processes) {
    return std::ranges::none_of(processes, &cgroup::Pidfd::exited);
  }
  // Held, though its policy is to kill; the report says why.
  void expect_only_observed(const std::string& id, const std::string& reason) {
    ASSERT_TRUE(client().wait_state(id, "holding"));
    const auto report = report_of(id);
    EXPECT_EQ(value<std::string>(report, "Enforcement"), "observe");
    EXPECT_EQ(value<std::string>(report, "EndReason"), reason);
    EXPECT_THAT(column(leaks(report), "Outcome"), Each("left"));
    EXPECT_EQ(counts(report).terminated + counts(report).killed, 0U);
    EXPECT_FALSE(property<bool>(id, "Frozen"));
  }
};

TEST_F(ServiceEnforcement, ObservingLeavesWhatTheDriverLeft) {
  observe();
  EXPECT_EQ(must(client().manager_property("Enforcement")).get<std::string>(), "observe");
  start_ready("a", misbehave({"jobs", "2"}), {{"SettleUSec", uint64_t{0}}});
  expect_only_observed("a", "driver-exited");
  const auto left = pidfds("a");
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(counts(report_of("a")).found, 2U);
  EXPECT_EQ(error_of(client().end_run("a")), kCorral + "Observing");
  EXPECT_TRUE(all_live(left));
  enforce();
  const auto report = ended("a");
  EXPECT_EQ(counts(report), (Counts{2, 2, 0}));
  EXPECT_EQ(value<std::string>(report, "Enforcement"), "enforce");
}

TEST_F(ServiceEnforcement, ObservingDoesNotFreezeEither) {
  observe();
  start_ready("a", misbehave({"jobs", "1"}),
              {{"OnDriverExit", std::string("freeze")}, {"SettleUSec", uint64_t{0}}});
  expect_only_observed("a", "driver-exited");
  enforce();
  EXPECT_TRUE(eventually([&] { return property<bool>("a", "Frozen"); }));
  EXPECT_THAT(column(leaks(report_of("a")), "Outcome"), ElementsAre("frozen"));
  end("a");
}

TEST_F(ServiceEnforcement, ARunThatEndsByItselfHasEnded) {
  observe();
  const auto report = run({"true"});
  EXPECT_EQ(value<std::string>(report, "Enforcement"), "observe");
  EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
  enforce();
}

TEST_F(ServiceEnforcement, EndRunAnswersObservingAndTheRunGoesOn) {
  observe();
  start("a", {"sleep", "100"});
  const auto held = pidfds("a");
  const auto answer = client().end_run("a", {{"Reason", std::string("why")}});
  EXPECT_EQ(error_of(answer), kCorral + "Observing");
  EXPECT_THAT(answer.error().message, testing::HasSubstr("enforce"));
  EXPECT_EQ(error_of(client().end_run("a", {{"NoBlock", true}})), kCorral + "Observing");
  EXPECT_EQ(property("a", "State"), "holding");
  EXPECT_EQ(property("a", "EndReason"), "requested");
  EXPECT_TRUE(all_live(held));
  enforce();
  EXPECT_EQ(exit_of(ended("a")), (Exit{"signal", "killed", SIGTERM}));
}

TEST_F(ServiceEnforcement, DeadlinesAndLeasesAreOnlyObserved) {
  observe();
  start("a", {"sleep", "100"}, {{"RuntimeMaxUSec", 100 * kMilliseconds}});
  start("b", {"sleep", "100"}, {{"LeaseUSec", 100 * kMilliseconds}});
  const auto a = pidfds("a"), b = pidfds("b");
  expect_only_observed("a", "deadline");
  expect_only_observed("b", "lease-lost");
  EXPECT_TRUE(all_live(a) && all_live(b));
  enforce();
  EXPECT_EQ(value<std::string>(ended("a"), "EndReason"), "deadline");
  EXPECT_EQ(value<std::string>(ended("b"), "EndReason"), "lease-lost");
}

TEST_F(ServiceEnforcement, IsOfOneRunAlone) {
  start("a", {"sleep", "100"}, {{"Enforcement", std::string("observe")}});
  start("b", {"sleep", "100"});
  EXPECT_EQ(property("a", "Enforcement"), "observe");
  EXPECT_EQ(property("b", "Enforcement"), "enforce");
  end("b");
  EXPECT_EQ(error_of(client().end_run("a")), kCorral + "Observing");
  must(client().set_run("a", {{"Enforcement", std::string("enforce")}}));
  EXPECT_EQ(property("a", "Enforcement"), "enforce");
  EXPECT_EQ(value<std::string>(ended("a"), "EndReason"), "requested") << "what was asked is done";
}

TEST_F(ServiceEnforcement, ASwitchStopsAnEndUnderWayAndTheSwitchBackFinishesIt) {
  start_ready("a", stubborn({"--stay", "jobs", "1"}));
  const auto held = pidfds("a");
  must(client().end_run("a", {{"NoBlock", true}, {"GraceUSec", 500 * kMilliseconds}}));
  observe();
  expect_only_observed("a", "requested");
  let_pass("0.7");
  EXPECT_TRUE(all_live(held)) << "its grace is over by now";
  EXPECT_EQ(property("a", "State"), "holding");
  enforce();
  const auto report = ended("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
  EXPECT_EQ(counts(report), (Counts{1, 0, 1}));
}

TEST_F(ServiceEnforcement, WhoWaitsForAnEndIsToldOfTheSwitch) {
  start_ready("a", stubborn({"--stay", "jobs", "1"}));
  const auto waiting = must(cgroup::clone_into(stack_.scratch().make("waiting"), [&] {
    harness::Client mine(stack_.address());
    const auto answer = mine.end_run("a", {{"GraceUSec", 20'000 * kMilliseconds}});
    return error_of(answer) == kCorral + "Observing" ? 0 : 1;
  }));
  ASSERT_TRUE(client().wait_state("a", "ending"));
  observe();
  int status = -1;
  EXPECT_EQ(waitpid(waiting.pid(), &status, 0), waiting.pid());
  EXPECT_EQ(status, 0);
  EXPECT_EQ(error_of(client().end_run("a", {{"GraceUSec", uint64_t{0}}})), kCorral + "Observing");
  enforce();
  ended("a");
}

TEST_F(ServiceEnforcement, IsRememberedByAServiceThatRestarts) {
  observe();
  start("a", {"sleep", "100"});
  EXPECT_EQ(error_of(client().end_run("a")), kCorral + "Observing");
  const auto held = pidfds("a");
  stack_.restart_corrald();
  EXPECT_EQ(must(client().manager_property("Enforcement")).get<std::string>(), "observe");
  EXPECT_EQ(property("a", "Enforcement"), "observe");
  EXPECT_EQ(property("a", "State"), "holding");
  EXPECT_TRUE(all_live(held));
  enforce();
  ended("a");
  stack_.restart_corrald();
  EXPECT_EQ(must(client().manager_property("Enforcement")).get<std::string>(), "enforce");
}

TEST_F(ServiceEnforcement, OfOneRunIsRememberedToo) {
  start("a", {"sleep", "100"}, {{"Enforcement", std::string("observe")}});
  stack_.restart_corrald();
  EXPECT_EQ(property("a", "Enforcement"), "observe");
  EXPECT_EQ(error_of(client().end_run("a")), kCorral + "Observing");
  must(client().set_run("a", {{"Enforcement", std::string("enforce")}}));
  ended("a");
}

TEST_F(ServiceEnforcement, IsNoRunsOwnToChoose) {
  start("a", {"sleep", "100"});
  EXPECT_TRUE(inside(directory_of("a"), [](harness::Client& mine) {
    const Dict observe = {{"Enforcement", std::string("observe")}};
    return error_of(mine.set_enforcement("observe")) == kCorral + "NotOwner" &&
           error_of(mine.set_run("a", observe)) == kCorral + "NotOwner";
  }));
  EXPECT_EQ(must(client().manager_property("Enforcement")).get<std::string>(), "enforce");
  EXPECT_EQ(property("a", "Enforcement"), "enforce");
  end("a");
}

TEST_F(ServiceEnforcement, WhatIsNestedIsObservedWithTheOuterAndNotByItself) {
  start("outer", {"sleep", "100"}, {{"Enforcement", std::string("observe")}});
  start("inner", {"sleep", "100"}, {{"Parent", std::string("outer")}});
  EXPECT_EQ(property("inner", "Enforcement"), "observe");
  EXPECT_EQ(error_of(client().end_run("inner")), kCorral + "Observing");
  must(client().set_run("outer", {{"Enforcement", std::string("enforce")}}));
  ended("inner");
  // Its own word keeps it from its own end, not from that of the outer one.
  start("inner", {"sleep", "100"},
        {{"Parent", std::string("outer")}, {"Enforcement", std::string("observe")}});
  EXPECT_EQ(error_of(client().end_run("inner")), kCorral + "Observing");
  end("outer");
  EXPECT_EQ(property("inner", "State"), "ended");
}

TEST_F(ServiceEnforcement, SignalsOfAPersonStillWork) {
  observe();
  start("a", {"sleep", "100"});
  must(client().signal_run("a", "all", SIGTERM));
  EXPECT_EQ(exit_of(ended("a")), (Exit{"signal", "killed", SIGTERM}));
  enforce();
}

TEST_F(ServiceEnforcement, AnEndFromAboveDoesNotChangeWhoAskedFirst) {
  start("outer", {"sleep", "100"});
  start("inner", {"sleep", "100"},
        {{"Parent", std::string("outer")}, {"Enforcement", std::string("observe")}});
  EXPECT_EQ(error_of(client().end_run("inner", {{"Reason", std::string("enough")}})),
            kCorral + "Observing");
  must(client().end_run("outer"));
  const auto report = report_of("inner");
  EXPECT_EQ(value<std::string>(report, "State"), "ended");
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "enough");
  EXPECT_NE(value<std::string>(report, "EndedBy"), "");
}

}  // namespace
}  // namespace corral::test
