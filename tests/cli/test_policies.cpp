#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "cli/cli_test.h"
#include "harness/eventually.h"
#include "harness/stack.h"

namespace corral::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Policies = HostTest;

const Words kLeaks{"/bin/sh", "-c", "sleep 601 & exit 3"};
const Words kStays{"/bin/sh", "-c", "sleep 601 & exec sleep 602"};

Words with(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST_F(Policies, HoldWhatAnAttachedRunLeavesAndSayHowToEndIt) {
  const std::string file = temp() / "report.json";
  const Ran held = ctl(with({"run", "--id=held", "--on-driver-exit=freeze", "--report=" + file,
                             "--hold-max=1h", "--max-time=1h", "--"},
                            kLeaks));
  EXPECT_EQ(held.status, 3);
  EXPECT_THAT(held.err, AllOf(HasSubstr("1 process of run held is held"),
                              HasSubstr("\"corralctl end held\"")));
  EXPECT_EQ(json::parse(slurp(file))["State"], "holding");
  EXPECT_THAT(ctl({"list"}).out, AllOf(HasSubstr("holding"), HasSubstr("frozen")));
  EXPECT_THAT(ctl({"status", "held"}).out, HasSubstr("Policy: freeze leaks, held for 1h at most"));
  EXPECT_EQ(ctl({"wait", "held"}).status, 3);
  EXPECT_EQ(ctl({"end", "--held"}).status, 0);
  EXPECT_EQ(ctl({"wait", "held", "--until=ended"}).status, 3);
}

TEST_F(Policies, SayNothingOfWhatIsHeldWhereQuietAndCountItAsALeak) {
  const Ran held = ctl({"run", "--id=q", "-q", "--on-driver-exit=report", "--fail-on-leak=9", "--",
                        "/bin/sh", "-c", "sleep 601 & exit 0"});
  EXPECT_EQ(held.status, 9);
  EXPECT_EQ(held.err, "");
  EXPECT_EQ(ctl({"end", "q"}).status, 0);
}

TEST_F(Policies, EndTheRunsOfAChoiceAndListThemBefore) {
  ASSERT_EQ(ctl(with({"run", "-d", "--id=a", "--owner=x", "--"}, kStays)).status, 0);
  ASSERT_EQ(ctl(with({"run", "-d", "--id=b", "--label=k=v", "--"}, kStays)).status, 0);
  EXPECT_THAT(ctl({"end", "--older-than=1h", "--dry-run"}).out, HasSubstr("0 runs would be"));
  const json dry = ctl_json({"end", "--owner=x", "--dry-run"});
  ASSERT_EQ(dry.size(), 1u);
  EXPECT_EQ(dry[0]["Outcome"], "would-end");
  const Ran ran = ctl({"end", "--owner=x"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("OUTCOME"), HasSubstr("  ended  "), Not(HasSubstr("\nb "))));
  EXPECT_EQ(ctl({"status", "a"}).status, 3);
  EXPECT_EQ(ctl({"end", "--label=k", "--reason=done"}).status, 0);
  EXPECT_EQ(ctl_json({"report", "b"})["EndMessage"], "done");
  EXPECT_EQ(ctl({"end"}).status, 2);
}

TEST_F(Policies, EndWithoutWaiting) {
  detach("r", {"/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"});
  const Ran ran = ctl({"end", "r", "--no-block", "--grace=1min"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("is ending"));
  EXPECT_EQ(ctl({"end", "r", "--grace=0"}).status, 0);
}

TEST_F(Policies, FreezeAndThaw) {
  detach("r", kStays);
  EXPECT_EQ(ctl({"freeze", "r"}).status, 0);
  EXPECT_EQ(ctl_json({"status", "r"})[0]["Frozen"], true);
  EXPECT_THAT(ctl({"tree", "r"}).out, HasSubstr("r running, frozen\n"));
  EXPECT_EQ(ctl({"thaw", "r"}).status, 0);
  EXPECT_EQ(ctl_json({"status", "r"})[0]["Frozen"], false);
  EXPECT_EQ(ctl({"end", "r"}).status, 0);
  EXPECT_THAT(ctl({"freeze", "r"}).err, HasSubstr("corralctl: freeze r: "));
  EXPECT_EQ(ctl({"thaw", "nobody"}).status, 1);
}

TEST_F(Policies, ChangeALiveRun) {
  detach("r", kStays);
  EXPECT_EQ(
      ctl({"set", "r", "--owner=me", "--description=new", "--label=k=v", "--max-time=1h"}).status,
      0);
  const json run = ctl_json({"status", "r"})[0];
  EXPECT_EQ(run["Owner"], "me");
  EXPECT_EQ(run["Labels"], json({{"k", "v"}}));
  EXPECT_EQ(run["RuntimeMaxUSec"], 3'600'000'000u);
  EXPECT_THAT(ctl({"list"}).out, HasSubstr(" to its deadline"));
  EXPECT_EQ(ctl({"set", "r", "--owner=", "--max-time=infinity"}).status, 0);
  EXPECT_EQ(ctl_json({"status", "r"})[0]["Owner"], "");
  EXPECT_THAT(ctl({"list"}).out, Not(HasSubstr(" to its deadline")));
  EXPECT_EQ(ctl({"set", "r", "--max-time=1ms"}).status, 0);
  EXPECT_TRUE(harness::eventually([&] { return ctl({"status", "r"}).status == 3; }));
  EXPECT_EQ(ctl_json({"report", "r"})["EndReason"], "deadline");
  EXPECT_EQ(ctl({"set", "r", "--owner=x"}).status, 1);
}

TEST_F(Policies, MoveAProcessIntoARunOfItsOwn) {
  detach("r", kStays);
  std::string pid;
  ASSERT_TRUE(harness::eventually([&] {
    for (const json& process : ctl_json({"ps", "r"}))
      if (process["Argv"] == json({"sleep", "601"}))
        pid = std::to_string(process["PID"].get<int>());
    return !pid.empty();
  }));
  const Ran ran = ctl({"release", "r", pid});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out.substr(0, 7), "r.kept-");
  EXPECT_EQ(ctl({"end", "r"}).status, 0);
  const std::string kept = ran.out.substr(0, ran.out.find(' '));
  EXPECT_EQ(ctl_json({"status", pid})[0]["Id"], kept);
  EXPECT_THAT(ctl({"list"}).out, HasSubstr("  kept  "));
  EXPECT_EQ(ctl({"release", "r", pid}).status, 1);
  EXPECT_EQ(ctl({"end", kept}).status, 0);
}

TEST_F(Policies, KeepWhatExecutesAFileThatIsNamed) {
  const Ran ran = ctl(with({"run", "--id=r", "--keep=*/sleep", "--"}, kLeaks));
  EXPECT_EQ(ran.status, 3) << ran.err;
  const json runs = ctl_json({"list"});
  ASSERT_EQ(runs.size(), 2u);
  const json& kept = runs[0]["Id"] == "host" ? runs[1] : runs[0];
  EXPECT_THAT(kept["Id"].get<std::string>(), testing::StartsWith("r.kept-"));
  EXPECT_EQ(ctl({"end", kept["Id"]}).status, 0);
}

TEST_F(Policies, ShowNestedRunsWithTheirProcesses) {
  detach("outer", kStays);
  ASSERT_EQ(ctl(with({"run", "-d", "--id=inner", "--parent=outer", "--"}, kStays)).status, 0);
  ASSERT_TRUE(harness::eventually([&] { return ctl_json({"ps"}).size() == 5; }));
  const Ran tree = ctl({"tree", "outer"});
  EXPECT_EQ(tree.status, 0) << tree.err;
  EXPECT_EQ(tree.out.find("outer running\n├─"), 0u) << tree.out;
  EXPECT_THAT(tree.out, HasSubstr("└─inner running\n  └─"));
  const json object = ctl_json({"tree", "outer"})[0];
  EXPECT_EQ(object["Processes"].size(), 2u);
  EXPECT_EQ(object["Runs"][0]["Id"], "inner");
  EXPECT_EQ(object["Runs"][0]["Processes"].size(), 2u);
  EXPECT_EQ(ctl({"end", "outer"}).status, 0);
  EXPECT_THAT(ctl({"tree", "inner"}).err, HasSubstr("it has ended"));
  EXPECT_EQ(ctl({"tree", "nobody"}).status, 1);
}

TEST_F(Policies, HoldALeaseForAsLongAsACommandRuns) {
  detach("r", kStays);
  const Ran list = ctl({"lease", "r", "--who=me", "--why=look", "--", harness::corralctl_path(),
                        "--bus=" + address(), "lease", "--list"});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("  me: look\n"));
  // It was the only one.
  EXPECT_TRUE(harness::eventually([&] { return ctl({"status", "r"}).status == 3; }));
  EXPECT_EQ(ctl_json({"report", "r"})["EndReason"], "lease-lost");
  EXPECT_EQ(ctl({"lease", "r", "--", "touch", temp() / "ran"}).status, 125);
  EXPECT_EQ(access((temp() / "ran").c_str(), F_OK), -1);
  EXPECT_EQ(ctl({"lease", "nobody", "--", "true"}).status, 125);
}

TEST_F(Policies, EndAsTheCommandOfALeaseDid) {
  detach("r", kStays);
  EXPECT_EQ(ctl({"lease", "r", "--ttl=1h"}).status, 0);
  EXPECT_THAT(ctl({"lease", "--list"}).out, HasSubstr("renewed within 1h\n"));
  EXPECT_EQ(ctl({"lease", "r", "--", "/bin/sh", "-c", "exit 4"}).status, 4);
  EXPECT_EQ(ctl({"lease", "r", "--", "/bin/sh", "-c", "kill -USR1 $$"}).status, 128 + SIGUSR1);
  EXPECT_EQ(ctl({"lease", "r", "--", "/nonexistent"}).status, 127);
  EXPECT_EQ(ctl({"lease", "r", "--", "/"}).status, 126);
  EXPECT_EQ(ctl({"lease", "r", "--drop"}).status, 0);
  EXPECT_EQ(ctl_json({"lease", "--list"}), json::array());
  EXPECT_EQ(ctl({"status", "r"}).status, 0);
  EXPECT_EQ(ctl({"end", "r"}).status, 0);
}

TEST_F(Policies, SwitchWhetherEndsAct) {
  EXPECT_EQ(ctl({"enforcement"}).out, "enforce\n");
  detach("r", kStays);
  EXPECT_EQ(ctl({"enforcement", "observe", "--run=r"}).status, 0);
  EXPECT_EQ(ctl({"enforcement", "--run=r"}).out, "observe\n");
  EXPECT_EQ(ctl({"enforcement"}).out, "enforce\n");
  EXPECT_EQ(ctl({"end", "r"}).status, 1);
  EXPECT_THAT(ctl({"list"}).out, HasSubstr("observe"));
  EXPECT_EQ(ctl({"enforcement", "enforce", "--run=r"}).status, 0);
  EXPECT_EQ(ctl({"wait", "r", "--until=ended"}).status, 128 + SIGTERM);
  EXPECT_EQ(ctl({"enforcement", "observe"}).status, 0);
  EXPECT_EQ(ctl_json({"enforcement"}), json({{"Enforcement", "observe"}}));
  EXPECT_EQ(ctl({"enforcement", "enforce"}).status, 0);
  EXPECT_EQ(ctl({"enforcement", "--run=nobody"}).status, 1);
}

TEST_F(Policies, AdoptNothingThatIsNotThere) {
  const Ran ran = ctl({"adopt", "--id=a", "4194304"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("corralctl: adopt: "));
}

using Watch = CliTest;

TEST_F(Watch, ShowsWhatHappensUntilTheBusGoes) {
  harness::Stack stack;
  const std::string bus = "--bus=" + stack.address(), out = temp() / "0.out";
  harness::Child watch = start({harness::corralctl_path(), bus, "watch", "--json=short"});
  const auto one_run = [&] {
    const Words words{"/bin/sh",
                      "-c",
                      "exec \"$@\" 2>/dev/null",
                      "sh",
                      harness::corralctl_path(),
                      bus,
                      "run",
                      "--",
                      "/bin/sh",
                      "-c",
                      "sleep 601 & exit 3"};
    harness::Child child({.argv = words, .environment = {}, .log = {}});
    EXPECT_TRUE(child.wait(harness::kDeadline));
  };
  // It hears nothing before it has asked the bus for it.
  ASSERT_TRUE(harness::eventually([&] {
    one_run();
    return slurp(out).find("RunEnded") != std::string::npos;
  }));
  one_run();  // the first that was heard may have begun before that
  ASSERT_TRUE(harness::eventually([&] {
    const std::string text = slurp(out);
    return text.find("RunEnded", text.find("RunStarted")) != std::string::npos;
  }));
  for (const char* name : {"RunStarted", "DriverExited", "LeaksFound"})
    EXPECT_THAT(slurp(out), HasSubstr(name));
  const std::string lines = slurp(out);
  EXPECT_FALSE(json::parse(lines.substr(0, lines.find('\n')), nullptr, false).is_discarded());
  stack.kill_bus();
  const Ran ran = collect(watch);
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("corralctl: watch: the bus went away: "));
  stack.start_bus();
  stack.restart_corrald();
}

TEST_F(Watch, NeedsAService) {
  harness::Stack stack({.start = false});
  stack.start_bus();
  const Ran ran = corralctl({"--bus=" + stack.address(), "watch"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.err, HasSubstr("no service on the bus"));
}

}  // namespace
}  // namespace corral::cli
