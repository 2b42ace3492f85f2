#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/cli_test.h"
#include "harness/eventually.h"
#include "harness/stack.h"

namespace corral::cli {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

using Commands = HostTest;

TEST_F(Commands, ShowARunFromItsStartToItsForgetting) {
  detach("r1", {"/bin/sh", "-c", "sleep 601 & exec sleep 602"});
  EXPECT_THAT(ctl({"list"}).out, HasSubstr("\n\n2 runs listed.\n"));
  EXPECT_EQ(ctl_json({"list"}).size(), 2u);
  EXPECT_TRUE(harness::eventually([&] { return ctl_json({"ps", "r1"}).size() == 2; }));
  EXPECT_THAT(ctl({"ps", "r1", "--no-legend"}).out, HasSubstr("  sleep 602\n"));

  const Ran live = ctl({"status", "r1"});
  EXPECT_EQ(live.status, 0) << live.err;
  EXPECT_THAT(live.out, HasSubstr("State: running since"));
  EXPECT_THAT(live.out, HasSubstr("└─"));

  const Ran end = ctl({"end", "r1", "--reason", "enough"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("(\"enough\"): driver was killed by SIGTERM"));
  EXPECT_EQ(ctl_json({"report", "r1"})["EndMessage"], "enough");
  EXPECT_EQ(ctl({"status", "r1"}).status, 3);
  EXPECT_EQ(ctl_json({"list"}).size(), 1u);
  EXPECT_EQ(ctl_json({"list", "--all"}).size(), 2u);

  EXPECT_EQ(ctl({"forget", "r1"}).status, 0);
  const Ran gone = ctl({"status", "r1"});
  EXPECT_EQ(gone.status, 4);
  EXPECT_THAT(gone.err, HasSubstr("corralctl: status r1: "));
}

TEST_F(Commands, WaitWithTheDriversStatus) {
  detach("code", {"/bin/sh", "-c", "exit 5"});
  EXPECT_EQ(ctl({"wait", "code"}).status, 5);
  detach("signal", {"/bin/sleep", "600"});
  EXPECT_EQ(ctl({"kill", "signal", "-s", "USR1"}).status, 0);
  EXPECT_EQ(ctl({"wait", "signal"}).status, 128 + SIGUSR1);
  EXPECT_EQ(ctl({"wait", "nobody"}).status, 125);
}

TEST_F(Commands, NameLeaksAfterTheirDriver) {
  detach("leaky", {"/bin/sh", "-c", "sleep 601 & exit 3"});
  EXPECT_EQ(ctl({"wait", "leaky"}).status, 3);
  EXPECT_THAT(ctl({"leaks", "leaky"}).out, HasSubstr("  term     sleep 601\n"));
  EXPECT_THAT(ctl({"leaks"}).out, EndsWith("\n\n1 leak listed.\n"));
  EXPECT_THAT(ctl({"report", "leaky"}).out, HasSubstr("1 process had outlived it"));
}

TEST_F(Commands, FindARunByPidAndByPort) {
  const std::string ports = temp() / "ports", ready = temp() / "ready";
  detach("web", {CORRAL_MISBEHAVE, "--stay", "--ready=" + ready, "servers", "0", ports});
  ASSERT_TRUE(harness::eventually([&] { return slurp(ready) == "ready\n"; }));
  std::string name, port;
  std::ifstream(ports) >> name >> port;
  EXPECT_EQ(ctl_json({"status", ":" + port}).at(0)["Id"], "web");
  const json processes = ctl_json({"ps", "--port", port});
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0]["Listening"], json({"tcp:127.0.0.1:" + port}));
  EXPECT_EQ(ctl_json({"status", std::to_string(processes[0]["PID"].get<int>())}).at(0)["Id"],
            "web");
  EXPECT_EQ(ctl({"status", "1"}).status, 4);
}

TEST_F(Commands, EndSeveralRunsAtOnceAndSayWhichWereNot) {
  const Words stubborn{"/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"};
  for (const char* id : {"a", "b", "c"}) detach(id, stubborn);
  const auto before = std::chrono::steady_clock::now();
  const Ran ran = ctl({"end", "a", "nobody", "b", "c", "--grace=2s", "--json=short"});
  const auto taken = std::chrono::steady_clock::now() - before;
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("corralctl: end nobody: "));
  EXPECT_EQ(json::parse(ran.out).size(), 3u);
  EXPECT_LT(taken, std::chrono::seconds{6}) << "one after the other";
}

TEST_F(Commands, FitTheirTablesIntoTheTerminal) {
  detach("a-run-with-a-long-name", {"/bin/sleep", "600"});
  const std::string command =
      harness::corralctl_path() + " --bus=" + address() + " list --no-legend";
  const Ran ran = run({"script", "-qec", "stty cols 40; " + command, "/dev/null"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("a-run-with-a-long-name"));
  EXPECT_THAT(ran.out, HasSubstr("…"));
  EXPECT_THAT(ran.out, Not(HasSubstr("running")));
}

TEST_F(Commands, LetNothingThroughThatATerminalWouldObey) {
  const Ran start = ctl({"run", "-d", "--id=evil", "--description=\033[2J", "--", "/bin/sh", "-c",
                         "sleep 600; :", "\033]0;owned\007"});
  ASSERT_EQ(start.status, 0) << start.err;
  for (const Words& words :
       {Words{"ps"}, Words{"list"}, Words{"status", "evil"}, Words{"end", "evil"}})
    EXPECT_THAT(ctl(words).out, Not(testing::AnyOf(HasSubstr("\033"), HasSubstr("\007"))));
}

TEST_F(Commands, FailWithTheWordsOfTheService) {
  EXPECT_THAT(ctl({"report", "nobody"}).err, HasSubstr("corralctl: report nobody: "));
  EXPECT_EQ(ctl({"end", "a/b"}).status, 1);
  EXPECT_EQ(ctl({"forget", "host"}).status, 1);
  EXPECT_EQ(ctl({"end", "host", "--invocation=" + std::string(32, '0')}).status, 1);
  const Ran start = ctl({"run", "-d", "--", "/nonexistent"});
  EXPECT_EQ(start.status, 125);
  EXPECT_THAT(start.err, HasSubstr("exec \"/nonexistent\": No such file or directory"));
}

TEST_F(Commands, DoNotTakeAFullDiskForSuccess) {
  const Ran ran = run({"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh", harness::corralctl_path(),
                       "--bus=" + address(), "list"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("write to standard output: No space left on device"));
}

TEST_F(Commands, DoNotTakeAnotherFileForAStreamThatIsClosed) {
  const Ran ran = run({"/bin/sh", "-c", "exec \"$@\" >&-", "sh", harness::corralctl_path(),
                       "--bus=" + address(), "list"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("write to standard output: Bad file descriptor"));
}

using WithoutService = CliTest;

TEST_F(WithoutService, NamesTheBusAndTheRemedy) {
  const Ran no_bus = corralctl({"--bus=unix:path=/nonexistent", "list"});
  EXPECT_EQ(no_bus.status, 1);
  EXPECT_THAT(no_bus.err, HasSubstr("/nonexistent: No such file or directory; "));

  harness::Stack stack({.start = false});
  stack.start_bus();
  const Ran no_service = corralctl({"--bus=" + stack.address(), "list"});
  EXPECT_EQ(no_service.status, 1);
  EXPECT_THAT(no_service.err, HasSubstr("no service on the bus at " + stack.address()));
}

}  // namespace
}  // namespace corral::cli
