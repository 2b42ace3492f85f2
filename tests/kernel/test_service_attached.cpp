#include <sys/prctl.h>

#include <fstream>
#include <memory>

#include "parked.h"
#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using testing::HasSubstr;

const std::string kBusy = std::string(harness::kErrorPrefix) + "RunBusy";
constexpr const char* kInvalid = "org.freedesktop.DBus.Error.InvalidArgs";
constexpr const char* kDenied = "org.freedesktop.DBus.Error.AccessDenied";

class ServiceAttached : public ServiceTest {
 protected:
  using Opened = harness::Opened;

  Opened open(const std::string& id) {
    return must(client().open_run(
        id, {{"SettleUSec", 10 * kMilliseconds}, {"GraceUSec", 2'000 * kMilliseconds}}));
  }
  // A run with a driver that executes.
  std::unique_ptr<Parked> attached(const Opened& opened, const Command& argv) {
    auto driver = std::make_unique<Parked>(argv, opened.directory + "/work");
    must(client().attach(opened.path, static_cast<uint32_t>(driver->pid())));
    driver->release();
    return driver;
  }
  void report(const Opened& opened, Parked& driver) {
    const auto [word, status] = driver.exit();
    must(client().report_exit(opened.path, word, status));
    driver.reap();
  }
  std::string reason(const Dict& report) { return value<std::string>(report, "EndReason"); }
  // Another process that opens a run, and does as `then` says; gone with the Child.
  template <typename Then>
  pid_t opener(const std::string& id, Pipe& said, Then then) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    harness::Client mine(stack_.address());
    const auto opened = must(mine.open_run(id));
    then(mine, opened);
    (void)!write(said.write_end().get<sdbus::UnixFd>().get(), "ready\n", 6);
    for (;;) pause();
  }
  // What an opener does: its driver executes, and is reaped by nobody.
  static void attach_sleeper(harness::Client& mine, const Opened& opened) {
    auto* driver = new Parked({"sleep", "100"}, opened.directory + "/work");
    must(mine.attach(opened.path, static_cast<uint32_t>(driver->pid())));
    driver->release();
  }
  static void kill_and_reap(pid_t pid) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, nullptr, 0);
  }
};

TEST_F(ServiceAttached, BornInTheRunEndsAsItsParentSays) {
  const auto opened = open("a");
  EXPECT_EQ(property("a", "State"), "starting");
  const auto driver = attached(opened, {"sh", "-c", "exit 7"});
  report(opened, *driver);
  const auto report = ended("a");
  EXPECT_EQ(exit_of(report), (Exit{"exit-code", "exited", 7}));
  EXPECT_EQ(reason(report), "driver-exited");
  EXPECT_EQ(counts(report), (Counts{0, 0, 0}));
  EXPECT_THAT(stack_.log(), testing::Not(HasSubstr("moved into the cgroup")));
}

TEST_F(ServiceAttached, ParkedElsewhereIsMovedIn) {
  const auto opened = open("a");
  Parked driver({"sleep", "100"});
  must(client().attach(opened.path, static_cast<uint32_t>(driver.pid())));
  EXPECT_THAT(stack_.log(), HasSubstr("run a: its driver was moved into the cgroup"));
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_EQ(must(client().get_run_by_pid(static_cast<uint32_t>(driver.pid()))).id, "a");
  driver.release();
  ASSERT_EQ(kill(driver.pid(), SIGTERM), 0);
  report(opened, driver);
  EXPECT_EQ(exit_of(ended("a")), (Exit{"signal", "killed", SIGTERM}));
}

TEST_F(ServiceAttached, LeavesLeaksLikeAnyOther) {
  const auto opened = open("a");
  const auto driver = attached(opened, {"sh", "-c", "setsid sleep 100 & exit 0"});
  report(opened, *driver);
  const auto report = ended("a");
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
}

TEST_F(ServiceAttached, ThatHasExitedAlreadyIsTakenToo) {
  const auto opened = open("a");
  Parked driver({"sh", "-c", "exit 3"});
  driver.release();
  (void)driver.exit();
  must(client().attach(opened.path, static_cast<uint32_t>(driver.pid())));
  report(opened, driver);
  EXPECT_EQ(exit_of(ended("a")), (Exit{"exit-code", "exited", 3}));
}

TEST_F(ServiceAttached, IsAChildOfWhoOpenedTheRunAndOneAlone) {
  const auto opened = open("a");
  EXPECT_EQ(error_of(client().attach(opened.path, 1)), kInvalid);
  EXPECT_EQ(error_of(client().attach(opened.path, 0)), kInvalid);
  EXPECT_EQ(error_of(client().attach(opened.path, 0x7fffffff)),
            "org.freedesktop.DBus.Error.UnixProcessIdUnknown");
  const auto driver = attached(opened, {"sleep", "100"});
  const Parked other({"true"});
  EXPECT_EQ(error_of(client().attach(opened.path, static_cast<uint32_t>(other.pid()))), kBusy);
  must(client().attach(opened.path, static_cast<uint32_t>(driver->pid())));
  must(client().end_run("a", {{"GraceUSec", uint64_t{0}}}));
}

TEST_F(ServiceAttached, IsTheDriverOfOneRunAlone) {
  const auto first = open("first"), second = open("second");
  const auto driver = attached(first, {"sleep", "100"});
  const auto nested = must(client().open_run("nested", {{"Parent", std::string("first")}}));
  const Parked member({"true"}, first.directory + "/work");
  const auto refusal = [&](const Opened& opened, const Parked& process) {
    const auto answer = client().attach(opened.path, static_cast<uint32_t>(process.pid()));
    return answer ? "" : answer.error().name + ": " + answer.error().message;
  };
  EXPECT_THAT(refusal(second, *driver), testing::StartsWith(kBusy + ": "));
  EXPECT_THAT(refusal(second, *driver), HasSubstr("the driver of run \"first\""));
  EXPECT_THAT(refusal(nested, *driver), HasSubstr("the driver of run \"first\""));
  EXPECT_THAT(refusal(second, member), testing::StartsWith(kBusy + ": "));
  EXPECT_THAT(refusal(second, member), HasSubstr("a process of run \"first\""));
  EXPECT_EQ(property("first", "State"), "running");
  // What sits in a run may become the driver of one that is nested in it.
  EXPECT_EQ(refusal(nested, member), "");
  EXPECT_EQ(property("nested", "State"), "running");
  for (const char* id : {"first", "second"})
    must(client().end_run(id, {{"GraceUSec", uint64_t{0}}}));
}

// A `corralctl run --parent=` inside of a run that may not clone into the new one.
TEST_F(ServiceAttached, ComesOutOfTheRunThatItsOpenerSitsInAlsoWhereThatIsNoParent) {
  const auto around = open("around");
  const auto driver = attached(around, {"sleep", "100"});
  Pipe said;
  const pid_t owner = fork();
  if (owner == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::ofstream(around.directory + "/work/cgroup.procs") << "0" << std::flush;
    harness::Client mine(stack_.address());
    const auto opened = must(mine.open_run("free", {{"Parent", std::string()}}));
    auto* own = new Parked({"sleep", "100"});
    const auto answer = mine.attach(opened.path, static_cast<uint32_t>(own->pid()));
    own->release();
    const std::string text = (answer ? "attached" : answer.error().message) + "\n";
    (void)!write(said.write_end().get<sdbus::UnixFd>().get(), text.data(), text.size());
    for (;;) pause();
  }
  EXPECT_EQ(said.read(), "attached\n");
  EXPECT_EQ(property("free", "State"), "running");
  EXPECT_EQ(property("around", "State"), "running");
  kill_and_reap(owner);
  EXPECT_EQ(reason(ended("free")), "lease-lost");
  must(client().end_run("around", {{"GraceUSec", uint64_t{0}}}));
}

TEST_F(ServiceAttached, BelongsToNoOtherProcess) {
  const auto opened = open("a");
  const auto driver = attached(opened, {"sleep", "100"});
  const pid_t other = fork();
  if (other == 0) {
    harness::Client theirs(stack_.address());
    const bool denied = error_of(theirs.attach(opened.path, 1)) == kDenied &&
                        error_of(theirs.report_exit(opened.path, "exited", 0)) == kDenied;
    _exit(denied ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
  must(client().end_run("a", {{"GraceUSec", uint64_t{0}}}));
}

TEST_F(ServiceAttached, IsNotReportedBeforeItHasExited) {
  const auto opened = open("a");
  EXPECT_EQ(error_of(client().report_exit(opened.path, "exited", 0)), kBusy);
  const auto driver = attached(opened, {"sleep", "100"});
  EXPECT_EQ(error_of(client().report_exit(opened.path, "exited", 0)), kBusy);
  for (const auto& [word, status] :
       {std::pair{"unknown", 0}, {"", 0}, {"exited", 256}, {"killed", 0}})
    EXPECT_EQ(error_of(client().report_exit(opened.path, word, status)), kInvalid) << word;
  ASSERT_EQ(kill(driver->pid(), SIGKILL), 0);
  report(opened, *driver);
  must(client().report_exit(opened.path, "exited", 1));  // changes nothing
  EXPECT_EQ(exit_of(ended("a")), (Exit{"signal", "killed", SIGKILL}));
}

TEST_F(ServiceAttached, IsForOpenedRunsOnly) {
  const auto started = must(client().start_run("a", {"sleep", "100"}));
  EXPECT_EQ(error_of(client().attach(started.path, static_cast<uint32_t>(getpid()))),
            "org.freedesktop.DBus.Error.NotSupported");
  must(client().end_run("a", {{"GraceUSec", uint64_t{0}}}));
}

TEST_F(ServiceAttached, DiesParkedWhereTheRunIsEnded) {
  const auto opened = open("a");
  const Parked driver({"sleep", "100"}, opened.directory + "/work");
  const auto report = end("a");
  EXPECT_EQ(reason(report), "requested");
  EXPECT_EQ(driver.exit(), (std::pair<std::string, int32_t>{"killed", SIGKILL}));
  EXPECT_EQ(error_of(client().attach(opened.path, static_cast<uint32_t>(driver.pid()))), kBusy);
}

TEST_F(ServiceAttached, IsKilledWithTheProcessThatOpenedTheRun) {
  Pipe said;
  const pid_t owner = opener("a", said, attach_sleeper);
  EXPECT_EQ(said.read(), "ready\n");
  EXPECT_EQ(property("a", "State"), "running");
  kill_and_reap(owner);
  const auto report = ended("a");
  EXPECT_EQ(reason(report), "lease-lost");
  EXPECT_EQ(value<std::string>(report, "Result"), "signal");
}

TEST_F(ServiceAttached, LeavesNothingWhereItsParentGoesBeforeIt) {
  Pipe said;
  const pid_t owner = opener("a", said, [](harness::Client&, const Opened& opened) {
    (void)new Parked({"sleep", "100"}, opened.directory + "/work");
  });
  EXPECT_EQ(said.read(), "ready\n");
  kill_and_reap(owner);
  const auto report = ended("a");
  EXPECT_EQ(reason(report), "lease-lost");
  EXPECT_EQ(value<std::string>(report, "Result"), "start-failed");
}

TEST_F(ServiceAttached, LivesWithoutAConnection) {
  auto first = std::make_unique<harness::Client>(stack_.address());
  const auto opened = must(first->open_run("a"));
  Parked driver({"sleep", "100"}, opened.directory + "/work");
  must(first->attach(opened.path, static_cast<uint32_t>(driver.pid())));
  driver.release();
  first.reset();
  EXPECT_EQ(property("a", "State"), "running");
  ASSERT_EQ(kill(driver.pid(), SIGTERM), 0);
  report(opened, driver);
  EXPECT_EQ(exit_of(ended("a")), (Exit{"signal", "killed", SIGTERM}));
}

TEST_F(ServiceAttached, OutlivesTheService) {
  const auto lives = open("lives"), exits = open("exits"), parked = open("parked");
  const auto living = attached(lives, {"sleep", "100"});
  const auto exiting = attached(exits, {"sleep", "100"});
  Parked waiting({"sh", "-c", "exit 6"}, parked.directory + "/work");
  stack_.kill_corrald();
  ASSERT_EQ(kill(exiting->pid(), SIGHUP), 0);
  (void)exiting->exit();
  stack_.start_corrald();
  EXPECT_EQ(property("lives", "State"), "running");
  EXPECT_EQ(property("parked", "State"), "starting");
  report(exits, *exiting);
  EXPECT_EQ(exit_of(ended("exits")), (Exit{"signal", "killed", SIGHUP}));
  must(client().attach(parked.path, static_cast<uint32_t>(waiting.pid())));
  waiting.release();
  report(parked, waiting);
  EXPECT_EQ(exit_of(ended("parked")), (Exit{"exit-code", "exited", 6}));
  ASSERT_EQ(kill(living->pid(), SIGTERM), 0);
  report(lives, *living);
  EXPECT_EQ(exit_of(ended("lives")), (Exit{"signal", "killed", SIGTERM}));
}

TEST_F(ServiceAttached, EndsAsSoonAsItIsEmptyAlsoAfterARestart) {
  const auto opened = open("a");
  const auto driver = attached(opened, {"sh", "-c", "sleep 100 & exec sleep 100"});
  ASSERT_TRUE(eventually([&] { return processes("a").size() == 2; }));
  stack_.restart_corrald();
  ASSERT_EQ(kill(driver->pid(), SIGTERM), 0);
  report(opened, *driver);
  const auto report = ended("a");
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  EXPECT_LT(value<uint64_t>(report, "TimeToEmptyUSec"), 1'500 * kMilliseconds) << "grace is 2 s";
}

TEST_F(ServiceAttached, EndsWithItsParentAlsoWhileTheServiceIsAway) {
  Pipe said;
  const pid_t owner = opener("a", said, attach_sleeper);
  EXPECT_EQ(said.read(), "ready\n");
  stack_.kill_corrald();
  kill_and_reap(owner);
  stack_.start_corrald();
  EXPECT_EQ(reason(ended("a")), "lease-lost");
}

}  // namespace
}  // namespace corral::test
