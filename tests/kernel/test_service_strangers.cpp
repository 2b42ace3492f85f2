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
