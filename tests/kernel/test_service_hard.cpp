#include <sys/prctl.h>
#include <sys/wait.h>

#include <thread>

#include "cgroup/control.h"
#include "cgroup/exit_info.h"
#include "service_test.h"

namespace corral::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// While it lives, orphans below the test become the test's children, which it then reaps at once:
// not every pid 1 does.
class Adoption {
 public:
  Adoption() { EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
  ~Adoption() { EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0); }
};

// Whether the kernel tells how a process exited that someone else reaped (Linux 6.15).
bool kernel_tells_exits() {
  harness::Child child(harness::Command{.argv = {"true"}});
  (void)child.wait(harness::kDeadline);
  return cgroup::exit_info(child.pidfd()).has_value();
}

class ServiceHard : public ServiceTest {
 protected:
  pid_t driver_of(const std::string& id) {
    return static_cast<pid_t>(property<uint32_t>(id, "DriverPID"));
  }
  // Where nobody of ours saw the driver's exit, its status is the kernel's word; kernels that
  // forget a reaped process may have forgotten it.
  static void expect_exit(const Dict& report, const Exit& exit) {
    const Exit unknown{"unknown", "unknown", 0};
    const auto seen = exit_of(report);
    EXPECT_TRUE(seen == exit || (!kernel_tells_exits() && seen == unknown));
    EXPECT_EQ(value<std::string>(report, "UnknownReason").empty(), seen != unknown);
  }
  // Ends the supervisor of the run as nobody should. Its orphans are the test's from then on.
  void kill_supervisor(const std::string& directory) {
    const auto members = must(cgroup::members(open(directory, "init")));
    ASSERT_THAT(members, SizeIs(1));
    const auto supervisor = must(cgroup::Pidfd::open(members.front().pid));
    must(supervisor.signal(SIGKILL));
    ASSERT_TRUE(eventually([&] { return supervisor.exited(); }));
  }
};

TEST_F(ServiceHard, ACgroupThatTheDriverFrozeIsThawedForSigterm) {
  const auto report = run(misbehave({"freeze-inner"}));
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
}

TEST_F(ServiceHard, AStubbornProcessInACgroupThatTheDriverFrozeIsKilled) {
  const auto directory =
      start("a", stubborn({"freeze-inner"}), {{"GraceUSec", 300 * kMilliseconds}});
  const auto report = ended("a");
  EXPECT_EQ(counts(report), (Counts{1, 0, 1}));
  EXPECT_THAT(column(leaks(report), "ControlGroup"),
              ElementsAre(control_group(directory) + "/work/inner"));
}

TEST_F(ServiceHard, ARunThatSomeoneFrozeIsEnded) {
  const auto directory = start_ready("a", misbehave({"--stay", "jobs", "3"}));
  const auto work = open(directory, "work");
  must(cgroup::set_frozen(work, true));
  ASSERT_TRUE(must(cgroup::wait_frozen(work, true, harness::kDeadline)));
  const auto report = end("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM}));
  EXPECT_EQ(counts(report), (Counts{3, 3, 0}));
}

TEST_F(ServiceHard, AProcessDeepBelowInCgroupsOfTheDriverIsFoundThere) {
  const auto directory = start("a", misbehave({"nested", "20"}));
  const auto report = ended("a");
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  std::string deepest = control_group(directory) + "/work";
  for (int level = 0; level < 20; ++level) deepest += "/n";
  EXPECT_THAT(column(leaks(report), "ControlGroup"), ElementsAre(deepest));
}

TEST_F(ServiceHard, AZombieOfAParentOutsideIsNoLeak) {
  const auto directory = start_ready("a", misbehave({"--stay", "jobs", "0"}));
  const auto engine = stack_.scratch().make("engine");
  const std::string log = stack_.temp() / "engine";
  const harness::Child holder(
      harness::Command{.argv = misbehave({"zombie-holder", "root/runs/" + directory + "/work"}),
                       .log = log,
                       .group = engine.fd()});
  ASSERT_TRUE(eventually([&] { return must(base::read_at(AT_FDCWD, log)) == "ready\n"; }));
  EXPECT_THAT(processes("a"), SizeIs(1));

  must(client().signal_run("a", "driver", SIGTERM));
  const auto report = ended("a");
  EXPECT_EQ(counts(report), Counts{});
  EXPECT_TRUE(eventually([&] { return harness::directories_below(stack_.runs()).empty(); }));
  EXPECT_FALSE(holder.pidfd().exited());
}

TEST_F(ServiceHard, TheResultSaysHowTheDriverWent) {
  EXPECT_EQ(exit_of(run(misbehave({"exit", "0"}))), (Exit{"success", "exited", 0}));
  EXPECT_EQ(exit_of(run(misbehave({"exit", "7"}))), (Exit{"exit-code", "exited", 7}));
  EXPECT_EQ(exit_of(run(misbehave({"exit", "255"}))), (Exit{"exit-code", "exited", 255}));
  EXPECT_EQ(exit_of(run(misbehave({"die", "9"}))), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_EQ(exit_of(run(misbehave({"die", "34"}))), (Exit{"signal", "killed", 34}));
}

TEST_F(ServiceHard, TheResultTellsACoreDumpFromItsSignal) {
  const Dict options = {{"WorkingDirectory", stack_.temp().path()}};  // where the core goes
  const auto die = [&](const std::string& limit) {
    return exit_of(
        run(shell("ulimit -c " + limit + "; exec \"$0\" die 6", {CORRAL_MISBEHAVE}), options));
  };
  EXPECT_EQ(die("0"), (Exit{"signal", "killed", SIGABRT}));
  const auto pattern = must(base::read_at(AT_FDCWD, "/proc/sys/kernel/core_pattern"));
  if (pattern == "\n") GTEST_SKIP() << "core_pattern is empty: this kernel dumps no core";
  EXPECT_EQ(die("unlimited"), (Exit{"core-dump", "dumped", SIGABRT}));
}

TEST_F(ServiceHard, ARunWhoseSupervisorWasKilledEndsWithItsDriver) {
  const Adoption adoption;
  Pipe gate;
  const auto directory = start_ready("a", shell("sleep 100 & echo ready; read line; exit 7"),
                                     {{"StandardInput", gate.read_end()}});
  gate.close_read();
  const auto driver = driver_of("a");
  kill_supervisor(directory);
  EXPECT_EQ(property("a", "State"), "running");

  gate.close_write();
  ASSERT_EQ(waitpid(driver, nullptr, 0), driver);
  const auto report = ended("a");
  expect_exit(report, {"exit-code", "exited", 7});
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
}

TEST_F(ServiceHard, ARunWhoseSupervisorWasKilledIsEnded) {
  const Adoption adoption;
  const auto directory = start_ready("a", misbehave({"--stay", "double-fork"}));
  const auto driver = driver_of("a");
  kill_supervisor(directory);
  std::thread reaper([driver] { (void)waitpid(driver, nullptr, 0); });
  const auto report = end("a");
  reaper.join();
  expect_exit(report, {"signal", "killed", SIGTERM});
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
}

}  // namespace
}  // namespace corral::test
