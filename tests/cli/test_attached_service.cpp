#include <gmock/gmock.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cgroup/pidfd.h"
#include "cli/with_the_service.h"

namespace corral::cli {
namespace {

using harness::eventually;
using nlohmann::json;
using testing::HasSubstr;

TEST_F(WithTheService, ARunEndsWhenItsCorralctlIsKilled) {
  harness::Child child = start({}, "exec sleep 600");
  child.kill();
  ASSERT_TRUE(ended());
  EXPECT_EQ(reported<std::string>("EndReason"), "lease-lost");
}

TEST_F(WithTheService, HoldsNoConnectionWhileTheDriverRuns) {
  harness::Child child = start({}, kWaitForGo);
  const auto sockets = [&] {
    unsigned count = 0;
    std::error_code closed;  // of what goes while we look
    for (const auto& fd :
         std::filesystem::directory_iterator("/proc/" + std::to_string(child.pid()) + "/fd"))
      if (std::filesystem::read_symlink(fd.path(), closed).native().starts_with("socket:")) ++count;
    return count;
  };
  // The driver's channel goes when corralctl sees that it has executed; the witness's stays.
  EXPECT_TRUE(eventually([&] { return sockets() == 1; })) << sockets();
  release();
  EXPECT_EQ(code(status_of(child)), 7);
}

TEST_F(WithTheService, ARestartOfTheServiceLosesNothing) {
  harness::Child child = start({}, kWaitForGo);
  stack().restart_corrald();
  release();
  EXPECT_EQ(code(status_of(child)), 7) << log();
  EXPECT_EQ(log(), "");
  EXPECT_EQ(reported<std::string>("DriverExit"), "exited");
  EXPECT_EQ(reported<int32_t>("DriverStatus"), 7);
  EXPECT_EQ(reported<std::string>("EndReason"), "driver-exited");
}

TEST_F(WithTheService, AnExitWhileTheServiceIsAwayIsToldWhenItIsBack) {
  harness::Child child = start({}, kWaitForGo);
  stack().kill_corrald();
  release();
  EXPECT_FALSE(child.wait(std::chrono::milliseconds{500}));
  stack().start_corrald();
  EXPECT_EQ(code(status_of(child)), 7) << log();
  EXPECT_EQ(log(), "");
  EXPECT_EQ(reported<int32_t>("DriverStatus"), 7);
}

TEST_F(WithTheService, ABusThatGoesAndComesBackLosesNothing) {
  harness::Child child = start({"--report=report", "--owner=me", "--label=a=b"}, kWaitForGo);
  stack().kill_bus();
  release();
  EXPECT_FALSE(child.wait(std::chrono::milliseconds{500}));
  (void)stack().corrald().wait(harness::kDeadline);  // it goes with its bus
  stack().start_bus();
  stack().restart_corrald();
  EXPECT_EQ(code(status_of(child)), 7) << log();
  EXPECT_EQ(log(), "");
  EXPECT_EQ(report(), served_report("r"));
  for (const auto& [key, value] : {std::pair<const char*, json>{"State", "ended"},
                                   {"Result", "exit-code"},
                                   {"DriverExit", "exited"},
                                   {"DriverStatus", 7},
                                   {"EndReason", "driver-exited"},
                                   {"EndMessage", ""},
                                   {"EndedBy", ""},
                                   {"LeaksFound", 0},
                                   {"Owner", "me"}})
    EXPECT_EQ(report()[key], value) << key;
  // Nothing is missing that a run has where nothing goes away.
  const auto other = run_script("plain", command({"run --id=clean --owner=me -- sh -c 'exit 7'"}));
  EXPECT_EQ(code(other.status), 7) << other.err;
  const json clean = served_report("clean");
  for (const auto& [key, value] : clean.items()) EXPECT_TRUE(report().contains(key)) << key;
  for (const char* key :
       {"StartTimestamp", "DriverExitTimestamp", "EndTimestamp", "WallUSec", "TimeToEmptyUSec"})
    EXPECT_GT(report().value(key, uint64_t{0}), 0u) << key;
}

TEST_F(WithTheService, AServiceThatStaysAwayFindsTheExitInTheRun) {
  harness::Child child = start({}, kWaitForGo);
  stack().kill_corrald();
  release();
  EXPECT_EQ(code(status_of(child)), 7);
  EXPECT_EQ(log(),
            "corralctl: run r: the service was away for 10 s or more; the driver's exit status was "
            "left in the run's directory for it to find, and it ends the run; `corralctl report r` "
            "has it when the service is up again\n");
  stack().start_corrald();
  ASSERT_TRUE(ended());
  EXPECT_EQ(reported<std::string>("DriverExit"), "exited");
  EXPECT_EQ(reported<int32_t>("DriverStatus"), 7);
}

TEST_F(WithTheService, ASignalEndsTheWaitForAServiceThatIsAway) {
  harness::Child child = start({}, kWaitForGo);
  stack().kill_corrald();
  release();
  ASSERT_TRUE(eventually([&] { return stack().processes().empty(); }));
  child.signal(SIGINT);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(code(status_of(child)), 7);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds{5});
  EXPECT_THAT(log(), HasSubstr("is away, and was not waited for longer; the driver's exit status "
                               "was left in the run's directory"));
  stack().start_corrald();
  ASSERT_TRUE(ended());
}

TEST_F(WithTheService, TwoSignalsEndTheWaitForAServiceThatDoesNotAnswer) {
  harness::Child child = start({}, kWaitForGo);
  stack().corrald().signal(SIGSTOP);
  release();
  ASSERT_TRUE(eventually([&] { return stack().processes().empty(); }));
  const auto before = std::chrono::steady_clock::now();
  // More than twice: the first may come before corralctl itself knows that the driver has gone.
  EXPECT_TRUE(eventually([&] {
    child.signal(SIGINT);
    return child.wait(std::chrono::milliseconds{200}).has_value();
  }));
  EXPECT_EQ(code(status_of(child)), 7);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds{5});
  EXPECT_THAT(log(), HasSubstr("the service does not answer, and was not waited for longer; the "
                               "driver's exit status was left in the run's directory"));
  stack().corrald().signal(SIGCONT);
  ASSERT_TRUE(ended());
  EXPECT_EQ(reported<int32_t>("DriverStatus"), 7);
}

// The service is kept from killing, as by a process that hangs in the kernel.
TEST_F(WithTheService, ASecondSignalLeavesAStuckRunAlone) {
  harness::Child child =
      start({"--grace=0"}, "sleep 600 & until [ -s go ]; do sleep 0.02; done; exit 7");
  const std::string status = "/proc/" + std::to_string(stack().corrald_pid()) + "/status";
  const auto is_traced = [&] {
    return slurp_file(status).find("TracerPid:\t0\n") == std::string::npos;
  };
  harness::Child strace({.argv = {"strace", "-qq", "-o", "/dev/null", "-e",
                                  "inject=write,pidfd_send_signal:error=EPERM", "-p",
                                  std::to_string(stack().corrald_pid())}});
  ASSERT_TRUE(eventually(is_traced));
  release();
  ASSERT_TRUE(stack().client().wait_state("r", "ending"));
  ASSERT_TRUE(eventually([&] { return stack().processes().size() == 1; }));
  child.signal(SIGINT);
  EXPECT_FALSE(child.wait(std::chrono::milliseconds{500}));
  child.signal(SIGINT);
  EXPECT_EQ(code(status_of(child)), 7);
  EXPECT_THAT(log(), HasSubstr("killed, and 1 still there: pid "));
  EXPECT_THAT(log(), HasSubstr("`corralctl report r` tells when nothing is left"));
  strace.signal(SIGTERM);  // it lets go of the service before it exits
  EXPECT_TRUE(strace.wait(harness::kDeadline));
  for (const pid_t pid : stack().processes())  // "when the kernel lets them go"
    harness::must(harness::must(cgroup::Pidfd::open(pid)).signal(SIGKILL));
  ASSERT_TRUE(ended());
}

TEST_F(WithTheService, LeaksAreReportedAndMayFailTheRun) {
  const char* leaky = "sleep 600 & exit 0";
  harness::Child child =
      start({"--report=report", "--fail-on-leak", "--label=a=b", "--owner=me"}, leaky);
  EXPECT_EQ(code(status_of(child)), 3);
  EXPECT_THAT(log(), HasSubstr("1 process had outlived it"));
  EXPECT_EQ(report()["LeaksFound"], 1);
  EXPECT_EQ(report()["Owner"], "me");
}

TEST_F(WithTheService, LabelAndOwnerAreReadBackAlsoWhileItRuns) {
  harness::Child child =
      start({"--report=report", "--owner=me", "--label=a=b", "--label=c="}, kWaitForGo);
  const auto listed = [&](const Words& filter) {
    Words words{"list", "--json=short"};
    words.insert(words.end(), filter.begin(), filter.end());
    return json::parse(run_script("plain", command(words)).out, nullptr, false);
  };
  for (const char* filter : {"--owner=me", "--label=a=b", "--label=a", "--label=c="}) {
    ASSERT_EQ(listed({filter}).size(), 1u) << filter;
    EXPECT_EQ(listed({filter})[0]["Id"], "r") << filter;
  }
  for (const char* filter : {"--owner=you", "--label=a=c", "--label=b"})
    EXPECT_EQ(listed({filter}).size(), 0u) << filter;
  release();
  EXPECT_EQ(code(status_of(child)), 7) << log();
  EXPECT_EQ(report()["Owner"], "me");
  EXPECT_EQ(listed({"--all"})[0]["Labels"], (json{{"a", "b"}, {"c", ""}}));
}

// The helper goes long after the default time for settling, and by itself.
TEST_F(WithTheService, AHelperMayTakeTheTimeForSettling) {
  harness::Child child = start({"--settle=10min"}, "until [ -s go ]; do sleep 0.02; done & exit 4");
  ASSERT_TRUE(stack().client().wait_state("r", "ending"));
  EXPECT_FALSE(child.wait(std::chrono::milliseconds{500}));
  release();
  EXPECT_EQ(code(status_of(child)), 4);
  EXPECT_EQ(log(), "");
  EXPECT_EQ(reported<uint64_t>("LeaksFound"), 0u);
}

TEST_F(WithTheService, NoTimeForSettlingMakesALeakOfAnyHelper) {
  harness::Child child = start({"--settle=0", "--grace=10min"}, "sleep 600 & exit 4");
  EXPECT_EQ(code(status_of(child)), 4);
  EXPECT_EQ(reported<uint64_t>("LeaksFound"), 1u);
  EXPECT_EQ(reported<uint64_t>("Terminated"), 1u);
}

TEST_F(WithTheService, TheDriverIsBornInItsRunAndNotMovedThere) {
  harness::Child child = start({}, kWaitForGo);
  release();
  EXPECT_EQ(code(status_of(child)), 7);
  EXPECT_THAT(stack().log(), testing::Not(HasSubstr("moved into the cgroup")));
}

TEST_F(WithTheService, QuietSaysNothingAndAFailureOfTheDriverGoesFirst) {
  harness::Child child = start({"-q", "--fail-on-leak=9"}, "sleep 600 & exit 5");
  EXPECT_EQ(code(status_of(child)), 5);
  EXPECT_EQ(log(), "");
}

TEST_F(WithTheService, ASecondSignalKillsWhatDoesNotGo) {
  harness::Child child =
      start({"--grace=10min"},
            "sh -c 'trap \"\" TERM; echo >stubborn; while :; do sleep 0.1; done' & "
            "until [ -s stubborn ]; do sleep 0.01; done; exit 4");
  ASSERT_TRUE(stack().client().wait_state("r", "ending"));
  // More than twice: the first may come before corralctl itself knows that the driver has gone.
  EXPECT_TRUE(eventually([&] {
    child.signal(SIGINT);
    return child.wait(std::chrono::milliseconds{200}).has_value();
  }));
  EXPECT_EQ(code(status_of(child)), 4);
  EXPECT_GE(reported<uint64_t>("Killed"), 1u);
}

TEST_F(WithTheService, AReportFromTheBackgroundDoesNotStop) {
  Pty pty({"env", "bash", "--norc", "--noprofile", "--noediting", "-i"});
  ASSERT_TRUE(pty.expect("$ "));
  pty.type("stty tostop; " + harness::corralctl_path() + " --bus=" + stack().address() +
           " run -v -- true & wait $!; echo do\"\"ne $?\n");
  EXPECT_TRUE(pty.expect("nothing had outlived it") && pty.expect("done 0\r\n")) << pty.shown();
  pty.type("exit\n");
  EXPECT_EQ(pty.finish(), 0);
}

TEST_F(WithTheService, ARefusalNamesTheOptionOfTheCommandLine) {
  const std::string owner = "--owner=" + std::string(300, 'a');
  EXPECT_EQ(run_script("plain", command({"run", owner, "-- true"})).err,
            "corralctl: run: --owner has 300 bytes, at most 256 are allowed\n");
}

TEST_F(WithTheService, FailsBeforeTheDriverRuns) {
  const std::string bus = "--bus=" + stack().address();
  const std::string corralctl = harness::corralctl_path() + " ";
  EXPECT_EQ(run_script("plain", corralctl + "--bus=unix:path=/nonexistent run -- touch ran; "
                                            "echo $?; ls ran")
                .out,
            "125\n");
  EXPECT_EQ(run_script("plain", corralctl + bus +
                                    " run --report=/nonexistent/r -- touch ran; "
                                    "echo $?; ls ran")
                .out,
            "125\n");
  EXPECT_EQ(run_script("plain", corralctl + bus +
                                    " run --token=x -- touch ran; "
                                    "echo $?; ls ran")
                .out,
            "125\n");
  EXPECT_EQ(run_script("plain", corralctl + bus +
                                    " run --working-directory=/nonexistent -- touch ran; "
                                    "echo $?; ls ran")
                .out,
            "125\n");
}

}  // namespace
}  // namespace corral::cli
