// The supervisor after the start: it reaps, records, outlives and goes when it may.
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <fstream>
#include <iostream>

#include "base/file.h"
#include "init_test.h"

namespace corral::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class InitSupervisor : public InitTest {
 protected:
  void SetUp() override {
    InitTest::SetUp();
    if (!IsSkipped()) spawner_ = &start_spawner();
  }
  cgroup::Child& spawner() { return *spawner_; }

  static std::vector<pid_t> children_of(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
    std::vector<pid_t> pids;
    for (pid_t child = 0; file >> child;) pids.push_back(child);
    return pids;
  }
  static void term(const Reply& reply) { pidfd_signal(reply.fds[0].get(), SIGTERM); }
  static void pidfd_signal(int pidfd, int number) {
    ASSERT_EQ(syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, 0), 0);
  }
  // It has taken its SIGTERM in and gone back to sleep.
  static bool has_taken_term(const Reply& reply) {
    return eventually([&] {
      const std::string pending = status_of(reply.said.supervisor, "ShdPnd");
      return (std::stoull(pending.empty() ? "0" : pending, nullptr, 16) &
              (1ull << (SIGTERM - 1))) == 0 &&
             status_of(reply.said.supervisor, "State").starts_with("S");
    });
  }
  static bool exited(const Reply& reply, int milliseconds) {
    return readable(reply.fds[0].get(), milliseconds);
  }
  // The only process of work/ but for the driver.
  pid_t await_member(const RunDir& run, size_t count) {
    EXPECT_TRUE(eventually([&] { return members_of(run.work()).size() == count; }));
    const auto members = members_of(run.work());
    return members.empty() ? 0 : members.back();
  }

 private:
  cgroup::Child* spawner_ = nullptr;
};

TEST_F(InitSupervisor, EveryOrphanIsReaped) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sh", "-c",
                                  "for i in 1 2 3 4 5 6 7 8 9 10; do (setsid true & setsid sleep "
                                  "0.01 &) ; done; exec sleep 60"});
  ASSERT_TRUE(reply.executed());
  EXPECT_TRUE(eventually([&] {
    return children_of(reply.said.supervisor) == std::vector{reply.said.driver} &&
           members_of(run.work()).size() == 1;
  }));
  EXPECT_FALSE(run.exit());
  ASSERT_TRUE(cgroup::kill(run.work()));
  EXPECT_EQ(run.awaited_exit(), "killed 9");
  EXPECT_TRUE(eventually([&] { return children_of(reply.said.supervisor).empty(); }));
}

TEST_F(InitSupervisor, OrphansThatDieWithTheDriverAreReapedAndTheStatusIsTheDrivers) {
  const RunDir run = make_run();
  const Reply reply = start(run, {CORRAL_MISBEHAVE, "--stay", "setsid", "500"});
  ASSERT_TRUE(reply.executed());
  ASSERT_TRUE(eventually([&] { return slurp(file("output")) == "ready\n"; }));
  ASSERT_TRUE(cgroup::kill(run.work()));
  EXPECT_EQ(run.awaited_exit(), "killed 9");
  EXPECT_TRUE(eventually([&] { return children_of(reply.said.supervisor).empty(); }));
}

TEST_F(InitSupervisor, TermWaitsForTheDriverAndForTheLastOfWork) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sh", "-c", "sleep 60 & read x < /dev/null; exec sleep 60"});
  ASSERT_TRUE(reply.executed());
  await_member(run, 2);
  term(reply);
  ASSERT_TRUE(has_taken_term(reply));
  EXPECT_FALSE(exited(reply, 0));
  pidfd_signal(reply.fds[1].get(), SIGKILL);
  EXPECT_EQ(run.awaited_exit(), "killed 9");
  EXPECT_TRUE(eventually([&] { return children_of(reply.said.supervisor).size() == 1; }));
  EXPECT_FALSE(exited(reply, 0));
  ASSERT_TRUE(cgroup::kill(run.work()));
  EXPECT_TRUE(exited(reply, 10000));
}

TEST_F(InitSupervisor, TermIsObeyedAtOnceWhenAllIsOver) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"true"});
  ASSERT_EQ(run.awaited_exit(), "exited 0");
  ASSERT_TRUE(
      eventually([&] { return status_of(reply.said.supervisor, "State").starts_with("S"); }));
  EXPECT_FALSE(exited(reply, 0));
  term(reply);
  EXPECT_TRUE(exited(reply, 10000));
}

TEST_F(InitSupervisor, TermIsNotHeldUpByAChildThatWasMovedAway) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sh", "-c", "sleep 60 & exit 0"});
  ASSERT_EQ(run.awaited_exit(), "exited 0");
  const pid_t leak = await_member(run, 1);
  const cgroup::Group elsewhere = make("elsewhere");
  ASSERT_TRUE(base::write_at(elsewhere.fd(), "cgroup.procs", std::to_string(leak)));
  ASSERT_THAT(children_of(reply.said.supervisor), ElementsAre(leak));
  term(reply);
  EXPECT_TRUE(exited(reply, 10000));
  EXPECT_THAT(members_of(elsewhere), ElementsAre(leak));
}

TEST_F(InitSupervisor, TermWaitsAsleepForADriverThatEscapedFromARemovedWork) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sleep", "60"});
  ASSERT_TRUE(reply.executed());
  const cgroup::Group elsewhere = make("elsewhere");
  ASSERT_TRUE(base::write_at(elsewhere.fd(), "cgroup.procs", std::to_string(reply.said.driver)));
  ASSERT_TRUE(eventually([&] { return unlinkat(run.run().fd(), "work", AT_REMOVEDIR) == 0; }));
  term(reply);
  ASSERT_TRUE(has_taken_term(reply));
  EXPECT_FALSE(exited(reply, 0));
  pidfd_signal(reply.fds[1].get(), SIGKILL);
  EXPECT_EQ(run.awaited_exit(), "killed 9");
  EXPECT_TRUE(exited(reply, 10000));
}

TEST_F(InitSupervisor, TermSeesAMemberOfANestedGroupLeave) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sh", "-c", "sleep 60 & exit 0"});
  ASSERT_EQ(run.awaited_exit(), "exited 0");
  const cgroup::Group inner = must(cgroup::Group::create(run.work().fd(), "inner"));
  ASSERT_TRUE(base::write_at(inner.fd(), "cgroup.procs", std::to_string(await_member(run, 1))));
  term(reply);
  ASSERT_TRUE(has_taken_term(reply));
  EXPECT_FALSE(exited(reply, 0));
  // Away and alive: no SIGCHLD says so, only the event of the cgroup.
  const cgroup::Group elsewhere = make("elsewhere");
  ASSERT_TRUE(
      base::write_at(elsewhere.fd(), "cgroup.procs", std::to_string(members_of(inner).front())));
  EXPECT_TRUE(exited(reply, 10000));
}

TEST_F(InitSupervisor, AKilledSupervisorLeavesTheDriverInItsGroup) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sleep", "60"});
  ASSERT_TRUE(reply.executed());
  pidfd_signal(reply.fds[0].get(), SIGKILL);
  ASSERT_TRUE(exited(reply, 10000));
  EXPECT_THAT(members_of(run.work()), ElementsAre(reply.said.driver));
  EXPECT_FALSE(readable(reply.fds[1].get(), 0));
}

TEST_F(InitSupervisor, AKilledSpawnerTakesNoStatusWithIt) {
  const RunDir first = make_run("first"), second = make_run("second");
  const std::string script = "read line; exit 6";
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  const Spec spec{.argv = {"sh", "-c", script},
                  .streams = {Stream{CORRAL_STREAM_FD, "", ends[0]}, {}, {}}};
  ASSERT_TRUE(first.start(socket(), spec).executed());
  ASSERT_TRUE(second.start(socket(), spec).executed());
  ASSERT_TRUE(spawner().pidfd().signal(SIGKILL));
  EXPECT_EQ(spawner().wait(), -SIGKILL);
  ASSERT_EQ(write(ends[1], "\n\n", 2), 2);
  EXPECT_EQ(first.awaited_exit(), "exited 6");
  EXPECT_EQ(second.awaited_exit(), "exited 6");
}

TEST_F(InitSupervisor, ADriverInATracersHandsIsRecordedWhenItIsLetGo) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sleep", "60"});
  ASSERT_TRUE(reply.executed());
  ASSERT_EQ(ptrace(PTRACE_SEIZE, reply.said.driver, nullptr, nullptr), 0);
  pidfd_signal(reply.fds[1].get(), SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(reply.said.driver, &status, __WALL), reply.said.driver);
  EXPECT_EQ(run.awaited_exit(), "killed 9");
}

TEST_F(InitSupervisor, ADriverWithoutItsLeaderIsAliveUntilItsLastThreadGoes) {
  const RunDir run = make_run();
  const Reply reply = start(run, {CORRAL_MISBEHAVE, "--stay", "dead-leader"});
  ASSERT_TRUE(reply.executed());
  ASSERT_TRUE(eventually([&] { return slurp(file("output")) == "ready\n"; }));
  ASSERT_TRUE(eventually([&] { return status_of(reply.said.driver, "State").starts_with("Z"); }));
  EXPECT_FALSE(run.exit());
  pidfd_signal(reply.fds[1].get(), SIGKILL);
  EXPECT_EQ(run.awaited_exit(), "killed 9");
}

TEST_F(InitSupervisor, AnIdleOneSleepsThroughTheLifeOfOthers) {
  const RunDir run = make_run("idle"), other = make_run("other");
  const Reply reply = start(run, {"sleep", "60"});
  ASSERT_TRUE(reply.executed());
  ASSERT_TRUE(
      eventually([&] { return status_of(reply.said.supervisor, "State").starts_with("S"); }));
  const std::string before = status_of(reply.said.supervisor, "voluntary_ctxt_switches");
  ASSERT_TRUE(start(other, {"sh", "-c", "for i in 1 2 3 4 5; do (true &); done"}).executed());
  ASSERT_EQ(other.awaited_exit(), "exited 0");
  EXPECT_EQ(status_of(reply.said.supervisor, "voluntary_ctxt_switches"), before);
}

TEST_F(InitSupervisor, AHundredOfThemHaveLessThan40KiBEach) {
  constexpr int kCount = 100;
  std::vector<RunDir> runs;
  std::vector<Reply> replies;
  for (int i = 0; i < kCount; ++i) {
    runs.push_back(make_run("run-" + std::to_string(i)));
    replies.push_back(start(runs.back(), {"sleep", "60"}));
    ASSERT_TRUE(replies.back().executed());
  }
  double pss = 0, dirty = 0;
  for (const Reply& reply : replies) {
    std::ifstream rollup(fmt::format("/proc/{}/smaps_rollup", reply.said.supervisor));
    for (std::string line; std::getline(rollup, line);) {
      if (line.starts_with("Pss:")) pss += std::stod(line.substr(4));
      if (line.starts_with("Private_Dirty:")) dirty += std::stod(line.substr(14));
    }
  }
  std::cout << fmt::format(
      "PSS of an idle supervisor, of {}: {:.1f} KiB, private dirty {:.1f} KiB\n", kCount,
      pss / kCount, dirty / kCount);
  EXPECT_GT(pss, 0);
  EXPECT_LT(pss / kCount, 40);
}

}  // namespace
}  // namespace corral::test
