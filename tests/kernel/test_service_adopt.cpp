#include <sys/prctl.h>
#include <sys/wait.h>

#include "cgroup/control.h"
#include "cgroup/kinship.h"
#include "cgroup/mount.h"
#include "service_test.h"

namespace corral::test {
namespace {

using harness::Child;
using harness::error_of;

using testing::SizeIs;

const std::string kCorral = harness::kErrorPrefix;
const std::string kInvalidArgs = "org.freedesktop.DBus.Error.InvalidArgs";
const std::string kPidUnknown = "org.freedesktop.DBus.Error.UnixProcessIdUnknown";

// Processes that live already, in a cgroup of the test's, are made a run.
class ServiceAdopt : public ServiceTest {
 protected:
  ServiceAdopt() { EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  ~ServiceAdopt() override {
    EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    children_.clear();
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;  // whom the run's end left to us
  }

  Child& spawn(const Command& argv) {
    children_.push_back(
        std::make_unique<Child>(harness::Command{.argv = argv, .group = outside_.fd()}));
    return *children_.back();
  }
  // A shell with this many children; returns when they are there.
  Child& spawn_tree(int children) {
    std::string script;
    for (int i = 0; i < children; ++i) script += "sleep 100 & ";
    Child& child = spawn(shell(script + "wait"));
    EXPECT_TRUE(eventually([&] { return descendants(child.pid()) == children; }));
    return child;
  }
  static int descendants(pid_t pid) {
    auto pass = must(cgroup::Kinship::open());
    while (!pass.step(1000)) continue;
    return static_cast<int>(pass.descendants(pid).size());
  }
  uint64_t sitting_outside() const { return must(cgroup::count(outside_)); }

  std::string adopt(const std::string& id, const std::vector<uint32_t>& pids,
                    const Dict& options = {}) {
    return id + "." + must(client().adopt_processes(id, pids, options)).invocation;
  }
  // The error of an adoption, which has changed nothing.
  std::string refused(const std::vector<uint32_t>& pids, const Dict& options = {}) {
    const auto runs = must(client().list_runs({{"All", true}})).size();
    const auto directories = harness::directories_below(stack_.runs());
    const auto outside = sitting_outside();
    const auto error = error_of(client().adopt_processes("refused", pids, options));
    EXPECT_THAT(must(client().list_runs({{"All", true}})), SizeIs(runs));
    EXPECT_TRUE(
        eventually([&] { return harness::directories_below(stack_.runs()) == directories; }));
    EXPECT_EQ(sitting_outside(), outside);
    return error;
  }
  static uint32_t number(const Child& child) { return static_cast<uint32_t>(child.pid()); }

  cgroup::Group outside_ = stack_.scratch().make("outside");
  std::vector<std::unique_ptr<Child>> children_;
};

TEST_F(ServiceAdopt, MakesARunOfATree) {
  Child& child = spawn_tree(3);
  const auto directory = adopt("a", {number(child)}, {{"Owner", std::string("engine")}});
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_EQ(property("a", "Containment"), "adopted");
  EXPECT_EQ(property("a", "Owner"), "engine");
  EXPECT_EQ(property<uint32_t>("a", "DriverPID"), number(child));
  EXPECT_THAT(processes("a"), SizeIs(4));
  EXPECT_EQ(sitting_outside(), 0U);
  EXPECT_EQ(must(client().get_run_by_pid(number(child))).path, must(client().get_run("a")).path);
  const auto report = end("a");
  EXPECT_EQ(counts(report), (Counts{3, 3, 0}));
  EXPECT_EQ(value<std::string>(report, "Containment"), "adopted");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM})) << "a zombie tells";
}

TEST_F(ServiceAdopt, TakesSeveralAndTheFirstIsTheDriver) {
  Child& first = spawn({"sleep", "100"});
  Child& second = spawn_tree(1);
  adopt("a", {number(first), number(second), number(first)});
  EXPECT_EQ(property<uint32_t>("a", "DriverPID"), number(first));
  EXPECT_THAT(processes("a"), SizeIs(3));
  end("a");
}

TEST_F(ServiceAdopt, EndsByItselfWithTheDriver) {
  Child& child = spawn_tree(1);
  adopt("a", {number(child)});
  child.signal(SIGKILL);
  const auto report = ended("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
}

TEST_F(ServiceAdopt, TakesWhatIsForkedMeanwhile) {
  Child& child = spawn(shell("i=0; while [ $i -lt 300 ]; do sleep 100 & i=$((i+1)); done; wait"));
  ASSERT_TRUE(eventually([&] { return descendants(child.pid()) >= 5; }));
  adopt("a", {number(child)});
  EXPECT_EQ(sitting_outside(), 0U);
  end("a", {{"GraceUSec", uint64_t{0}}});
}

TEST_F(ServiceAdopt, LeavesOtherRunsAlone) {
  Child& child = spawn_tree(2);
  adopt("a", {number(child)});
  EXPECT_EQ(refused({number(child)}), kCorral + "RunBusy");
  EXPECT_EQ(error_of(client().get_run("refused")), kCorral + "NoSuchRun");
  start("b", {"sleep", "100"});
  EXPECT_EQ(refused({property<uint32_t>("b", "DriverPID")}), kCorral + "RunBusy");
  EXPECT_EQ(error_of(client().adopt_processes("b", {number(child)})), kCorral + "RunExists");
  end("a");
  end("b");
}

TEST_F(ServiceAdopt, RefusesWhatTheServiceStandsOn) {
  Child& child = spawn_tree(1);
  start("b", {"sleep", "100"});
  const auto supervisors = must(cgroup::members(open("b." + property("b", "Invocation"), "init")));
  ASSERT_THAT(supervisors, SizeIs(1));
  for (const pid_t pid :
       {pid_t{1}, stack_.corrald_pid(), stack_.spawner_pid(), getpid(), supervisors.front().pid}) {
    EXPECT_EQ(refused({number(child), static_cast<uint32_t>(pid)}), kInvalidArgs) << pid;
  }
  EXPECT_EQ(property("b", "State"), "running");
  end("b");
}

TEST_F(ServiceAdopt, RefusesWhoHasGone) {
  Child& child = spawn_tree(1);
  Child& gone = spawn({"true"});
  ASSERT_TRUE(eventually([&] { return gone.pidfd().exited(); }));
  EXPECT_EQ(refused({number(child), number(gone)}), kPidUnknown) << "a zombie";
  ASSERT_TRUE(gone.wait(harness::kDeadline));
  EXPECT_EQ(refused({number(child), number(gone)}), kPidUnknown);
  EXPECT_EQ(refused({}), kInvalidArgs);
  EXPECT_EQ(refused({0}), kInvalidArgs);
}

TEST_F(ServiceAdopt, IsTheSameRunAfterARestart) {
  Child& child = spawn_tree(2);
  adopt("a", {number(child)});
  stack_.restart_corrald();
  EXPECT_EQ(property("a", "Containment"), "adopted");
  EXPECT_EQ(property<uint32_t>("a", "DriverPID"), number(child));
  EXPECT_EQ(column(processes("a"), "Detached"), (std::vector<std::string>{"no", "no", "no"}));
  EXPECT_EQ(counts(end("a")), (Counts{2, 2, 0}));
}

TEST_F(ServiceAdopt, SaysThatTheExitWasTheParentsToSee) {
  Child& child = spawn({"sleep", "100"});
  adopt("a", {number(child)});
  stack_.kill_corrald();
  child.kill();  // and reaped
  stack_.start_corrald();
  ASSERT_TRUE(client().wait_state("a", "ended"));
  const auto report = must(client().get_report("a"));
  EXPECT_EQ(value<std::string>(report, "Result"), "unknown");
  EXPECT_THAT(value<std::string>(report, "UnknownReason"), testing::HasSubstr("adopted"));
}

TEST_F(ServiceAdopt, AnswersATokenAgain) {
  Child& child = spawn({"sleep", "100"});
  const Dict options{{"Token", std::string("once")}};
  const auto directory = adopt("a", {number(child)}, options);
  EXPECT_EQ(adopt("a", {number(child)}, options), directory);
  end("a");
}

}  // namespace
}  // namespace corral::test
