#include "cgroup/control.h"
#include "harness/signals.h"
#include "service_test.h"

namespace corral::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class ServiceStrangers : public ServiceTest {};

TEST_F(ServiceStrangers, HiddenBesideTheSupervisorAndAboveItAreReportedAndGone) {
  harness::SignalRecorder signals(stack_.address());
  const auto directory = start("a", misbehave({"hide", "init", "."}));
  const auto report = ended("a");
  EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
  EXPECT_EQ(counts(report), (Counts{2, 0, 2}));
  EXPECT_THAT(column(leaks(report), "Rule"), ElementsAre("stranger", "stranger"));
  EXPECT_THAT(column(leaks(report), "ControlGroup"),
              UnorderedElementsAre(control_group(directory), control_group(directory) + "/init"));
  EXPECT_TRUE(signals.wait(
      [](const auto& signal) { return signal.name == "LeaksFound" && signal.number == 2; }));
}

TEST_F(ServiceStrangers, HiddenFromAnEndThatWasRequestedAreReportedAndGone) {
  start_ready("a", misbehave({"--stay", "hide", "init", "."}));
  const auto report = end("a");
  EXPECT_EQ(counts(report), (Counts{2, 0, 2}));
  EXPECT_THAT(column(leaks(report), "Rule"), ElementsAre("stranger", "stranger"));
}

TEST_F(ServiceStrangers, BornOfATermHandlerAreNamedBesideTheirParent) {
  const auto report = run(misbehave({"term-forks"}), {{"GraceUSec", 1000 * kMilliseconds}});
  std::map<std::string, std::string> outcomes;
  for (const Dict& row : leaks(report))
    outcomes[value<std::string>(row, "Comm")] = value<std::string>(row, "Outcome");
  EXPECT_EQ(counts(report), (Counts{2, 1, 1}));
  EXPECT_THAT(outcomes, UnorderedElementsAre(std::pair("misbehave", "term"),
                                             std::pair("grandchild", "kill")));
}

// The kernel says that work/ emptied to who watches its events file, not to who watches work/.
TEST_F(ServiceStrangers, ADriverThatMovesItselfOutIsReportedAtOnceAndLeftAlone) {
  const auto elsewhere = stack_.scratch().make("elsewhere");
  const auto procs = stack_.scratch().path() + "/elsewhere/cgroup.procs";
  start("a", shell("sleep 0.2; echo 0 >\"$0\"; exec sleep 100", {procs}));
  ASSERT_TRUE(client().wait_state("a", "ended"));
  const auto report = must(client().get_report("a"));
  EXPECT_EQ(value<uint64_t>(report, "Escaped"), 1U);
  EXPECT_EQ(value<std::string>(report, "DriverExit"), "unknown");
  EXPECT_THAT(column(leaks(report), "Outcome"), ElementsAre("escaped"));
  EXPECT_THAT(column(leaks(report), "ControlGroup"),
              ElementsAre(stack_.scratch().control_group() + "/elsewhere"));
  EXPECT_TRUE(must(elsewhere.events()).populated);
  must(cgroup::kill(elsewhere));
}

// Some kernels spare such a process in cgroup.kill.
TEST_F(ServiceStrangers, WhoseGroupLeaderIsGoneAreKilledAndReported) {
  const auto report =
      run(stubborn({"--child", "dead-leader"}), {{"GraceUSec", 300 * kMilliseconds}});
  EXPECT_EQ(counts(report), (Counts{1, 0, 1}));
  EXPECT_THAT(column(leaks(report), "State"), ElementsAre("Z"));
}

TEST_F(ServiceStrangers, AreNotSeenInAStubbornDriverWhoseGroupLeaderIsGone) {
  start_ready("a", stubborn({"dead-leader"}));
  const auto report = end("a", {{"GraceUSec", 300 * kMilliseconds}});
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_EQ(counts(report), Counts{});
}

}  // namespace
}  // namespace corral::test
