#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cgroup/pidfd.h"
#include "cli/cli_test.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Embedded = CliTest;

TEST_F(Embedded, PassesTheDriversStatusOnAndSaysNothingOfACleanRun) {
  const Ran ran = run(embedded({}, {"/bin/sh", "-c", "exit 7"}));
  EXPECT_EQ(ran.status, 7) << ran.err;
  EXPECT_EQ(ran.out + ran.err, "");
  EXPECT_EQ(run(embedded({}, {"/bin/sh", "-c", "kill -9 $$"})).status, 128 + SIGKILL);
}

TEST_F(Embedded, GivesTheDriverItsOwnStreamsDirectoryAndEnvironment) {
  const std::string script = "cd / && echo input | FROM_CALLER=1 \"$0\" \"$@\" && echo after";
  Words words = embedded({"--setenv=FROM_OPTION=2"},
                         {"/bin/sh", "-c", "cat; pwd; echo $FROM_CALLER $FROM_OPTION; echo e >&2"});
  words.insert(words.begin(), {"/bin/sh", "-c", script});
  const Ran ran = run(words);
  EXPECT_EQ(ran.out, "input\n/\n1 2\nafter\n");
  EXPECT_EQ(ran.err, "e\n");
}

TEST_F(Embedded, ReportsLeaksToPeopleAndAsJson) {
  const std::string file = temp() / "report";
  const Ran ran = run(embedded({"--id=leaky", "--report=" + file},
                               {CORRAL_MISBEHAVE, "servers", "1", temp() / "ports"}));
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, HasSubstr("Run leaky ("));
  EXPECT_THAT(ran.err, HasSubstr("driver exited with 0"));
  EXPECT_THAT(ran.err, HasSubstr("2 processes had outlived it.\n"));
  EXPECT_THAT(ran.err, HasSubstr("  tcp:127.0.0.1:"));
  EXPECT_THAT(ran.err, HasSubstr("nothing is left (proven in "));
  const json report = json::parse(slurp(file));
  EXPECT_EQ(report["State"], "ended");
  EXPECT_EQ(report["LeaksFound"], 2);
  EXPECT_EQ(report["Leaks"].size(), 2u);
}

TEST_F(Embedded, ReportsACleanRunWhenAskedTo) {
  EXPECT_THAT(run(embedded({"-v"}, {"/bin/true"})).err, HasSubstr("nothing had outlived it"));
}

TEST_F(Embedded, ExitsAsAShellDoesForACommandThatCannotBeExecuted) {
  const std::string file = temp() / "report";
  const Ran missing = run(embedded({"--report=" + file}, {"/nonexistent"}));
  EXPECT_EQ(missing.status, 127);
  EXPECT_THAT(missing.err, HasSubstr("corralctl: /nonexistent: No such file or directory\n"));
  EXPECT_EQ(json::parse(slurp(file))["DriverStatus"], 127);
  EXPECT_EQ(run(embedded({}, {"/etc/passwd"})).status, 126);
  EXPECT_EQ(run(embedded({"--working-directory=/nonexistent"}, {"/bin/true"})).status, 125);
}

TEST_F(Embedded, StartsNothingWhereTheReportOrTheCgroupCannotBeWritten) {
  const std::string marker = temp() / "marker";
  const Ran report = run(embedded({"--report=/nonexistent/report"}, {"/bin/touch", marker}));
  EXPECT_EQ(report.status, 125);
  EXPECT_THAT(report.err, HasSubstr("open /nonexistent/report: No such file or directory"));
  const Ran group = corralctl(
      {"--embedded", "run", "--cgroup-root=" + temp().path(), "--", "/bin/touch", marker});
  EXPECT_EQ(group.status, 125);
  EXPECT_THAT(group.err, HasSubstr("not on a cgroup2 file system"));
  EXPECT_FALSE(std::filesystem::exists(marker));
}

// A driver that says when it is up, and then answers SIGTERM with a mark only.
Words stubborn_driver(const std::string& up, const std::string& asked) {
  const char* script = "trap 'echo >\"$2\"' TERM; echo >\"$1\"; while :; do sleep 0.05; done";
  return {"/bin/sh", "-c", script, "sh", up, asked};
}

TEST_F(Embedded, PassesSignalsOnToTheDriver) {
  const std::string up = temp() / "up", asked = temp() / "asked";
  harness::Child child = start(embedded({}, stubborn_driver(up, asked)));
  ASSERT_TRUE(harness::eventually([&] { return std::filesystem::exists(up); }));
  child.signal(SIGTERM);
  ASSERT_TRUE(harness::eventually([&] { return std::filesystem::exists(asked); }));
  child.signal(SIGINT);
  EXPECT_EQ(collect(child).status, 128 + SIGINT);
}

TEST_F(Embedded, TakesEverythingDownWhenAPartOfItHasDied) {
  for (const std::string name : {"corrald", "dbus-daemon"}) {
    const std::string up = temp() / name;
    harness::Child child = start(embedded({}, stubborn_driver(up, temp() / "asked")));
    ASSERT_TRUE(harness::eventually([&] { return std::filesystem::exists(up); }));
    const pid_t part = child_named(child_named(child.pid(), "corral-host"), name);
    ASSERT_NE(part, 0) << name;
    harness::must(harness::must(cgroup::Pidfd::open(part)).signal(SIGKILL));
    child.signal(SIGINT);
    const Ran ran = collect(child);
    EXPECT_EQ(ran.status, 128 + SIGINT) << name;
    // Which call was under way when it died is not ours to say; which part it was is.
    EXPECT_THAT(ran.err, HasSubstr(" has exited"));
  }
}

// A program inside that starts a run of its own with nothing but what is in its environment. The
// inner driver goes when it is asked to, but not before `leave` is there.
TEST_F(Embedded, HasAWholeServiceForAProgramInside) {
  const char* inner =
      "trap 'echo >asked; until [ -s leave ]; do sleep 0.02; done; echo >left; exit 0' TERM; "
      "echo >up; while :; do sleep 0.02; done";
  const char* outer =
      "cd \"$1\" && \"$2\" run --detach --id=inner -- /bin/sh -c \"$3\" >started && "
      "until [ -s up ]; do sleep 0.02; done; echo \"$CORRAL_BUS_ADDRESS\" >new; mv new address; "
      "until [ -s go ]; do sleep 0.02; done; exit 7";
  harness::Child child =
      start(embedded({"--id=outer"}, {"/bin/sh", "-c", outer, "sh", temp().path(),
                                      harness::corralctl_path(), inner}));
  const auto there = [&](const char* file) {
    return harness::eventually([&] { return std::filesystem::exists(temp() / file); });
  };
  ASSERT_TRUE(there("address")) << slurp(temp() / "0.err");
  EXPECT_THAT(slurp(temp() / "started"), testing::MatchesRegex("inner [0-9a-f]+\n"));
  std::string address = slurp(temp() / "address");
  address.pop_back();
  harness::Client client(address);
  const auto path = harness::must(client.get_run("inner")).path;
  const auto said = [&](const char* name) {
    return harness::must(client.run_property(path, name));
  };
  EXPECT_EQ(said("Parent").get<sdbus::ObjectPath>(), harness::must(client.get_run("outer")).path);
  EXPECT_THAT(said("ControlGroup").get<std::string>(), HasSubstr("/runs/outer."));

  std::ofstream(temp() / "go") << "\n";
  ASSERT_TRUE(there("asked"));
  EXPECT_EQ(said("EndReason").get<std::string>(), "parent-ended");
  EXPECT_FALSE(child.wait(std::chrono::milliseconds{300})) << "the inner run is still there";
  std::ofstream(temp() / "leave") << "\n";
  const Ran ran = collect(child);
  EXPECT_EQ(ran.status, 7);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("had outlived it")) << "what is left of the inner run, is of it";
  EXPECT_THAT(ran.err, HasSubstr("echo >asked"));
  EXPECT_TRUE(std::filesystem::exists(temp() / "left")) << "it was killed";
}

TEST_F(Embedded, SaysWhatDoesNotStart) {
  std::filesystem::copy_file(harness::corralctl_path(), temp() / "corralctl");
  Words words = embedded({}, {"/bin/true"});
  words[0] = temp() / "corralctl";
  words.insert(words.begin(), {"/usr/bin/env", "PATH=/usr/bin:/bin"});
  const Ran ran = run(words);
  EXPECT_EQ(ran.status, 125);
  EXPECT_THAT(ran.err, HasSubstr("find corral-init: neither beside corralctl nor in PATH"));
}

}  // namespace
}  // namespace corral::cli
