#include <filesystem>
#include <fstream>

#include "harness/signals.h"
#include "service_test.h"

namespace corral::test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class ServiceLeaks : public ServiceTest {};

TEST_F(ServiceLeaks, AreTheBackgroundJobsOfAShell) {
  // The CPU limit is inherited: no job outlives a broken test for long.
  const auto report = run(shell(
      "ulimit -t 20; i=0; while [ $i -lt 39 ]; do yes >/dev/null & i=$((i+1)); done; exit 0"));
  EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
  EXPECT_EQ(counts(report), (Counts{39, 39, 0}));
  EXPECT_EQ(value<std::string>(report, "EndReason"), "driver-exited");
}

TEST_F(ServiceLeaks, AreLeftByAShellThatATimeOutKilled) {
  start_ready("a", shell("sleep 100 & sleep 100 & echo ready; wait"));
  must(client().signal_run("a", "driver", SIGKILL));
  const auto report = ended("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_EQ(counts(report), (Counts{2, 2, 0}));
}

TEST_F(ServiceLeaks, HoldAPipeWhoseReaderGetsTheEndOfFileFromEndRun) {
  Pipe output;
  start("a", misbehave({"pipe-holder"}),
        {{"StandardOutput", output.write_end()}, {"SettleUSec", uint64_t{60'000'000}}});
  output.close_write();
  must(client().wait_run("a", {{"Until", std::string("driver")}}));
  EXPECT_EQ(output.read(), "ready\n");
  EXPECT_FALSE(output.at_end());
  const auto report = end("a");
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  EXPECT_TRUE(output.at_end());
}

TEST_F(ServiceLeaks, AreTheGrandchildrenOfADoubleFork) {
  const auto report = run(misbehave({"double-fork"}));
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  EXPECT_THAT(column(leaks(report), "Detached"), ElementsAre("orphaned"));
  EXPECT_TRUE(value<bool>(report, "SnapshotExact"));
}

TEST_F(ServiceLeaks, AreFoundInSessionsOfTheirOwn) {
  const auto report = run(misbehave({"setsid", "29"}));
  EXPECT_EQ(counts(report), (Counts{29, 29, 0}));
  EXPECT_THAT(column(leaks(report), "Detached"), AllOf(SizeIs(29), Each("own-session")));
}

// One shell forks where the other executes in place: the trees are not the same, the leaks are.
TEST_F(ServiceLeaks, OfSetsidAreTheSameWhateverTheShell) {
  for (const std::string shell : {"/bin/dash", "/bin/bash"}) {
    const auto report = run({shell, "-c", "setsid sleep 100 & setsid -f sleep 100"});
    EXPECT_EQ(counts(report), (Counts{2, 2, 0})) << shell;
  }
}

TEST_F(ServiceLeaks, AreServersNamedWithTheirPortsWithinASecond) {
  harness::SignalRecorder signals(stack_.address());
  const std::string file = stack_.temp() / "ports";
  const auto report = run(misbehave({"servers", "5", file}));

  std::map<std::string, std::vector<std::string>> wanted, found;
  std::string name, port;
  for (std::ifstream lines(file); lines >> name >> port;) wanted[name] = {"tcp:127.0.0.1:" + port};
  for (const Dict& row : leaks(report))
    found[value<std::string>(row, "Comm")] = value<std::vector<std::string>>(row, "Listening");
  EXPECT_THAT(wanted, SizeIs(6));
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(counts(report), (Counts{6, 6, 0}));

  EXPECT_LT(value<uint64_t>(report, "EndTimestampMonotonic") -
                value<uint64_t>(report, "DriverExitTimestampMonotonic"),
            1000 * kMilliseconds);
  EXPECT_TRUE(signals.wait(
      [](const auto& signal) { return signal.name == "LeaksFound" && signal.number == 6; }));
}

TEST_F(ServiceLeaks, OfARunThatPassedDoNotActLater) {
  const std::string marker = stack_.temp() / "MARKER";
  const auto report = run(misbehave({"marker", "2", marker}));
  EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  // Who would have made it is gone, so it cannot come any more.
  EXPECT_FALSE(std::filesystem::exists(marker));
}

TEST_F(ServiceLeaks, AreFoundWithoutParentSessionAndEnvironment) {
  const auto report = run(misbehave({"scrub"}));
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  EXPECT_THAT(column(leaks(report), "Detached"), ElementsAre("own-session"));
}

TEST_F(ServiceLeaks, AreKilledWhileTheyFork) {
  const auto report = run(stubborn({"storm", "16", "20"}), {{"GraceUSec", 300 * kMilliseconds}});
  EXPECT_GE(counts(report).killed, 16U);  // a chain is one process at least at every moment
}

TEST_F(ServiceLeaks, ThatIgnoreSigtermAreKilledWhenTheGraceIsOver) {
  const auto report = run(misbehave({"ignore-term"}), {{"GraceUSec", 300 * kMilliseconds}});
  EXPECT_EQ(counts(report), (Counts{1, 0, 1}));
  EXPECT_GE(value<uint64_t>(report, "TimeToEmptyUSec"), 300 * kMilliseconds);
}

// pid 1 may be no reaper.
TEST_F(ServiceLeaks, ThatWereKilledAreReapedBeforeTheRunEnds) {
  const auto report = run(stubborn({"setsid", "250"}), {{"GraceUSec", 0 * kMilliseconds}});
  EXPECT_EQ(counts(report), (Counts{250, 0, 250}));
  for (const uint32_t pid : column<uint32_t>(leaks(report), "PID"))
    EXPECT_NE(access(("/proc/" + std::to_string(pid)).c_str(), F_OK), 0) << pid;
}

TEST_F(ServiceLeaks, ThatAreStoppedAreContinuedSoThatSigtermEndsThem) {
  EXPECT_EQ(counts(run(misbehave({"stopped"}))), (Counts{1, 1, 0}));
}

TEST_F(ServiceLeaks, ThatAreStoppedByATracerEndWithIt) {
  EXPECT_EQ(counts(run(misbehave({"traced"}))), (Counts{2, 2, 0}));
}

TEST_F(ServiceLeaks, ThatAreStoppedAndStubbornAreKilled) {
  for (const std::string shape : {"stopped", "traced"}) {
    const auto report = run(stubborn({shape}), {{"GraceUSec", 300 * kMilliseconds}});
    const uint64_t all = shape == "traced" ? 2 : 1;
    EXPECT_EQ(counts(report), (Counts{all, 0, all})) << shape;
  }
}

TEST_F(ServiceLeaks, OfTenThousandAreCountedExactlyAndListedInPart) {
  const auto report = run(misbehave({"setsid", "10000"}));
  EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
  EXPECT_EQ(counts(report).found, 10000U);
  EXPECT_THAT(leaks(report), SizeIs(256));
  EXPECT_EQ(value<uint64_t>(report, "LeaksOmitted"), 9744U);
}

TEST_F(ServiceLeaks, AreNotSeenInADriverThatLivesOnInAnotherThread) {
  start_ready("a", misbehave({"dead-leader"}));
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_THAT(column<uint32_t>(processes("a"), "PID"),
              ElementsAre(property<uint32_t>("a", "DriverPID")));
  const auto report = end("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM}));
  EXPECT_EQ(counts(report), Counts{});
}

TEST_F(ServiceLeaks, AreNotSeenInADriverThatExecutedAnother) {
  start_ready("a", misbehave({"exec-other"}));
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_THAT(column<uint32_t>(processes("a"), "PID"),
              ElementsAre(property<uint32_t>("a", "DriverPID")));
  const auto report = end("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM}));
  EXPECT_EQ(counts(report), Counts{});
}

}  // namespace
}  // namespace corral::test
