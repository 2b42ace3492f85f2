#include "cgroup/control.h"
#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using testing::ElementsAre;

const std::string kCorral = harness::kErrorPrefix;

// What becomes of what the driver left: killed, held frozen, held as it is.
class ServicePolicies : public ServiceTest {
 protected:
  // A driver that leaves a sleeper and exits; returns when the run is held.
  void hold(const std::string& id, const std::string& policy, Dict options = {}) {
    options.emplace("OnDriverExit", policy);
    options.emplace("SettleUSec", uint64_t{0});
    start(id, shell("sleep 100 & exit 0"), std::move(options));
    ASSERT_EQ(settled(id), "holding");
  }
  std::string settled(const std::string& id) {
    return value<std::string>(must(client().wait_run(id)), "State");
  }
  std::vector<std::string> outcomes(const std::string& id) {
    return column(leaks(must(client().get_report(id))), "Outcome");
  }
  bool is_frozen(const std::string& id) {
    return must(open(id + "." + property(id, "Invocation"), "work").events()).frozen;
  }
};

TEST_F(ServicePolicies, FreezeHoldsTheLeaksFrozen) {
  hold("a", "freeze");
  EXPECT_TRUE(property<bool>("a", "Frozen"));
  EXPECT_TRUE(is_frozen("a"));
  EXPECT_THAT(outcomes("a"), ElementsAre("frozen"));
  EXPECT_TRUE(value<bool>(must(client().get_report("a")), "SnapshotExact"));
  EXPECT_EQ(counts(end("a")), (Counts{1, 1, 0})) << "thawed, it takes SIGTERM";
}

TEST_F(ServicePolicies, ReportLeavesTheLeaksAsTheyAre) {
  hold("a", "report");
  EXPECT_FALSE(is_frozen("a"));
  EXPECT_THAT(outcomes("a"), ElementsAre("left"));
  EXPECT_EQ(property<uint32_t>("a", "Leaks"), 1U);
  const auto report = end("a", {{"Reason", std::string("seen enough")}});
  EXPECT_EQ(value<std::string>(report, "EndReason"), "driver-exited");
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "seen enough");
}

TEST_F(ServicePolicies, AHeldRunHoldsItsId) {
  hold("a", "report");
  EXPECT_EQ(error_of(client().start_run("a", {"/bin/true"})), kCorral + "RunExists");
  EXPECT_EQ(error_of(client().forget_run("a")), kCorral + "RunBusy");
  end("a");
}

TEST_F(ServicePolicies, AHeldRunEndsWhenItsLastLeakHasGone) {
  start("a", shell("sleep 0.3 & exit 3"),
        {{"OnDriverExit", std::string("report")}, {"SettleUSec", uint64_t{0}}});
  EXPECT_EQ(settled("a"), "holding");
  ASSERT_TRUE(client().wait_state("a", "ended"));
  EXPECT_EQ(exit_of(must(client().get_report("a"))), (Exit{"exit-code", "exited", 3}));
  EXPECT_THAT(outcomes("a"), ElementsAre("exited")) << "nobody touched it";
}

TEST_F(ServicePolicies, ARunThatLeavesNothingIsNotHeld) {
  for (const char* policy : {"freeze", "report"}) {
    start("a", {"true"}, {{"OnDriverExit", std::string(policy)}});
    EXPECT_EQ(settled("a"), "ended");
  }
}

TEST_F(ServicePolicies, HoldMaxEndsAHeldRun) {
  hold("a", "freeze", {{"HoldMaxUSec", 300 * kMilliseconds}});
  ASSERT_TRUE(client().wait_state("a", "ended"));
  const auto report = must(client().get_report("a"));
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "HoldMaxUSec is over");
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
}

TEST_F(ServicePolicies, AHeldRunOutlivesTheService) {
  hold("a", "freeze");
  hold("b", "report", {{"HoldMaxUSec", 60'000 * kMilliseconds}});
  const auto held = pidfds("a");
  stack_.restart_corrald();
  EXPECT_EQ(property("a", "State"), "holding");
  EXPECT_EQ(property("b", "State"), "holding");
  EXPECT_TRUE(is_frozen("a"));
  EXPECT_TRUE(property<bool>("a", "Frozen"));
  ASSERT_TRUE(eventually([&] { return outcomes("a").size() == 1 && outcomes("b").size() == 1; }));
  EXPECT_THAT(outcomes("a"), ElementsAre("frozen"));
  EXPECT_FALSE(held.front().exited());
  end("a");
  end("b");
}

TEST_F(ServicePolicies, AHeldRunEndsWhenItsLastLeakWasKilledByOthers) {
  hold("a", "freeze");
  const auto held = pidfds("a");
  ASSERT_EQ(held.size(), 1U);
  must(held[0].signal(SIGKILL));  // which the frozen hear
  ASSERT_TRUE(client().wait_state("a", "ended"));
  EXPECT_THAT(outcomes("a"), ElementsAre("exited"));
  EXPECT_EQ(value<std::string>(must(client().get_report("a")), "EndReason"), "driver-exited");
}

TEST_F(ServicePolicies, AHeldRunThatIsThawedIsStillHeld) {
  hold("a", "freeze");
  must(client().thaw_run("a"));
  EXPECT_FALSE(is_frozen("a"));
  EXPECT_FALSE(property<bool>("a", "Frozen"));
  EXPECT_EQ(property("a", "State"), "holding");
  must(client().freeze_run("a"));
  EXPECT_TRUE(is_frozen("a"));
  EXPECT_EQ(counts(end("a")), (Counts{1, 1, 0}));
}

TEST_F(ServicePolicies, RetentionDropsReportsAndNoHeldRun) {
  const auto file = stack_.temp() / "corrald.conf";
  must(base::replace_at(AT_FDCWD, file, "[Runs]\nKeepReports=1\n"));
  stack_.options().corrald_arguments = {"--config=" + file};
  stack_.restart_corrald();
  hold("a", "freeze");
  for (const char* id : {"b", "c", "d"}) {
    start(id, {"true"});
    ended(id);
  }
  EXPECT_EQ(error_of(client().get_run("b")), kCorral + "NoSuchRun");
  EXPECT_EQ(must(client().list_runs({{"All", true}})).size(), 2U) << "a, and the newest report";
  EXPECT_EQ(property("a", "State"), "holding");
  EXPECT_THAT(outcomes("a"), ElementsAre("frozen"));
  end("a");
}

TEST_F(ServicePolicies, HoldMaxCountsOverARestart) {
  hold("a", "report", {{"HoldMaxUSec", 1'000 * kMilliseconds}});
  stack_.kill_corrald();
  stack_.start_corrald();
  ASSERT_TRUE(client().wait_state("a", "ended"));
  EXPECT_EQ(value<std::string>(must(client().get_report("a")), "EndMessage"),
            "HoldMaxUSec is over");
}

TEST_F(ServicePolicies, ADeadlineEndsARun) {
  start("a", {"sleep", "100"}, {{"RuntimeMaxUSec", 300 * kMilliseconds}});
  const auto report = ended("a");
  EXPECT_EQ(value<std::string>(report, "EndReason"), "deadline");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM}));
}

TEST_F(ServicePolicies, ADeadlineIsHeldOpenAndBroughtForward) {
  start("a", {"sleep", "100"}, {{"RuntimeMaxUSec", 500 * kMilliseconds}});
  must(client().set_run("a", {{"RuntimeMaxUSec", UINT64_MAX}}));
  EXPECT_EQ(property<uint64_t>("a", "RuntimeMaxUSec"), UINT64_MAX);
  stack_.restart_corrald();  // the record has it
  EXPECT_EQ(property<uint64_t>("a", "RuntimeMaxUSec"), UINT64_MAX);
  must(client().set_run("a", {{"RuntimeMaxUSec", uint64_t{1}}}));
  EXPECT_EQ(value<std::string>(ended("a"), "EndReason"), "deadline");
}

TEST_F(ServicePolicies, ADeadlineThatIsFarAwayIsNone) {
  start("a", {"sleep", "100"},
        {{"RuntimeMaxUSec", int64_t{INT64_MAX - 1}}, {"LeaseUSec", int64_t{INT64_MAX - 1}}});
  let_pass("0.1");
  EXPECT_EQ(property("a", "State"), "running");
  end("a");
}

TEST_F(ServicePolicies, ADeadlineThatPassedWhileTheServiceWasAwayActsOnce) {
  const auto directory = start("a", {"sleep", "100"}, {{"RuntimeMaxUSec", 400 * kMilliseconds}});
  stack_.kill_corrald();
  must(cgroup::wait_populated(open(directory, "work"), false,
                              std::chrono::milliseconds{500}));  // time goes
  stack_.restart_corrald();
  EXPECT_EQ(value<std::string>(ended("a"), "EndReason"), "deadline");
}

TEST_F(ServicePolicies, SetRunChangesWhatTheRunSaysOfItself) {
  start("a", {"sleep", "100"}, {{"Owner", std::string("old")}});
  must(client().set_run("a", {{"Owner", std::string("new")},
                              {"Description", std::string("claimed")},
                              {"Labels", std::map<std::string, std::string>{{"k", "v"}}}}));
  stack_.restart_corrald();
  EXPECT_EQ(property("a", "Owner"), "new");
  EXPECT_EQ(property("a", "Description"), "claimed");
  EXPECT_EQ(must(client().list_runs({{"Label", std::string("k=v")}})).size(), 1U);
  EXPECT_EQ(value<std::string>(end("a"), "Owner"), "new");
  EXPECT_EQ(error_of(client().set_run("a", {})), kCorral + "RunBusy");
}

TEST_F(ServicePolicies, WhatIsReleasedWhileTheServiceObservesIsOnlyLookedAt) {
  must(client().set_enforcement("observe"));
  start_ready("a", misbehave({"--stay", "jobs", "1"}));
  auto pids = column<uint32_t>(processes("a"), "PID");
  std::erase(pids, property<uint32_t>("a", "DriverPID"));
  const auto kept = must(client().release(must(client().get_run("a")).path, pids));
  ASSERT_EQ(property(kept.id, "Enforcement"), "observe");
  EXPECT_EQ(error_of(client().end_run(kept.id)), kCorral + "Observing");
  must(client().set_enforcement("enforce"));
  must(client().end_run("a"));
  end(kept.id);
}

}  // namespace
}  // namespace corral::test
