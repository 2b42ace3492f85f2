// Births that the kernel refuses or spoils, the probe that tells, and faults at every step of a
// start.
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "init_test.h"

namespace corral::test {
namespace {

using testing::ElementsAre;

class InitBirth : public InitTest {
 protected:
  // A cgroup.kill of what is empty: it counts all the same.
  static void kill_once(const cgroup::Group& group) { ASSERT_TRUE(cgroup::kill(group)); }

  // Whether a child that is cloned into a once-killed group is dead before it does anything.
  bool kernel_kills_at_birth() {
    const cgroup::Group killed = make("once-killed");
    kill_once(killed);
    cgroup::Child child(killed, [] { return 0; });
    return child.wait() != 0;
  }
  void expect_works(const RunDir& run, uint32_t flags) {
    const Reply reply = start(run, {"sh", "-c", "cat /proc/self/cgroup; exit 9"});
    ASSERT_TRUE(reply.executed()) << reply.outcome();
    EXPECT_EQ(reply.said.flags, flags);
    EXPECT_EQ(run.awaited_exit(), "exited 9");
    EXPECT_THAT(slurp(file("output")), testing::HasSubstr("/work\n"));
    ASSERT_TRUE(run.members());
    EXPECT_EQ(run.members()->driver.pid, static_cast<uint32_t>(reply.said.driver));
    EXPECT_THAT(members_of(run.init()), ElementsAre(reply.said.supervisor));
  }
  // Starts a spawner under strace(1) with these injections.
  void start_injected(const std::vector<std::string>& injections) {
    if (access("/usr/bin/strace", X_OK) < 0) GTEST_SKIP() << "needs strace";
    std::vector<std::string> wrapper = {"strace", "-D", "-f", "-qq", "-o", file("trace")};
    for (const std::string& injection : injections)
      wrapper.insert(wrapper.end(), {"-e", "inject=" + injection});
    start_spawner({.wrapper = wrapper});
  }
};

TEST_F(InitBirth, ADriverIsMovedIntoAWorkThatWasOnceKilled) {
  start_spawner();
  const RunDir run = make_run();
  kill_once(run.work());
  expect_works(run, kernel_kills_at_birth() ? CORRAL_DRIVER_MOVED : 0);
}

TEST_F(InitBirth, ASupervisorIsMovedIntoAnInitThatWasOnceKilled) {
  const bool bug = kernel_kills_at_birth();
  start_spawner();
  const RunDir run = make_run();
  kill_once(run.init());
  // The supervisor then lives in a once-killed group itself, and work/ was never killed.
  expect_works(run, bug ? CORRAL_SUPERVISOR_MOVED | CORRAL_DRIVER_MOVED : 0);
}

TEST_F(InitBirth, ASpawnerInAOnceKilledGroupStillServes) {
  const bool bug = kernel_kills_at_birth();
  start_spawner();
  const cgroup::Group inner = must(cgroup::Group::create(service().fd(), "inner"));
  kill_once(inner);
  for (const pid_t pid : members_of(service()))
    ASSERT_TRUE(base::write_at(inner.fd(), "cgroup.procs", std::to_string(pid)));
  expect_works(make_run(), bug ? CORRAL_SUPERVISOR_MOVED : 0);
}

TEST_F(InitBirth, WhereTheKernelRefusesToCloneIntoAGroupBothAreMoved) {
  for (const char* error : {"ENOSYS", "EACCES", "EBUSY", "EOPNOTSUPP"}) {
    start_injected({fmt::format("clone3:error={}", error)});
    if (IsSkipped()) return;
    expect_works(make_run(error), CORRAL_SUPERVISOR_MOVED | CORRAL_DRIVER_MOVED);
    std::filesystem::remove(file("output"));
    std::filesystem::rename(socket(), file(error));  // the next spawner makes its own
  }
}

TEST_F(InitBirth, AMoveThatIsRefusedFailsAtTheMove) {
  start_spawner();
  const RunDir run = make_run();
  // Beside a threaded cgroup another one is invalid, for clone3 and for cgroup.procs.
  const cgroup::Group threaded = must(cgroup::Group::create(run.work().fd(), "threaded"));
  const cgroup::Group inner = must(cgroup::Group::create(run.work().fd(), "invalid"));
  ASSERT_TRUE(base::write_at(threaded.fd(), "cgroup.type", "threaded"));
  const UniqueFd spec = memory_file(bytes_of({.argv = {"true"}}));
  std::vector<int> fds = run.fds(spec.get());
  for (const auto& [index, step] :
       {std::pair{2u, CORRAL_STEP_MOVE_SUPERVISOR}, {3u, CORRAL_STEP_MOVE_DRIVER}}) {
    fds = run.fds(spec.get());
    fds[index] = inner.fd();
    Connection connection(socket());
    connection.send(CORRAL_START, fds);
    const auto reply = connection.receive();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->said.step, static_cast<uint32_t>(step)) << reply->outcome();
    EXPECT_NE(reply->said.error, 0);
    EXPECT_TRUE(run.becomes_empty());
  }
}

TEST_F(InitBirth, TheProbeAgreesWithWhatTheKernelDoes) {
  start_spawner();
  const cgroup::Group throw_away = make("throw-away"), own = make("own");
  Connection connection(socket());
  connection.send(CORRAL_PROBE, {throw_away.fd()});
  const auto reply = connection.receive();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->outcome(), "executed: 0");
  EXPECT_FALSE(must(throw_away.events()).populated);

  EXPECT_EQ((reply->said.flags & CORRAL_BUG_KILLED_BIRTH) != 0, kernel_kills_at_birth());
  cgroup::Child orphaned(own, [&] {
    (void)dup2(open(file("output").c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    execl(CORRAL_MISBEHAVE, CORRAL_MISBEHAVE, "--stay", "dead-leader", nullptr);
    return 127;
  });
  ASSERT_TRUE(eventually([&] { return slurp(file("output")) == "ready\n"; }));
  ASSERT_TRUE(eventually([&] { return status_of(orphaned.pid(), "State").starts_with("Z"); }));
  kill_once(own);
  const bool survives = !readable(orphaned.pidfd().fd(), 500);
  EXPECT_EQ((reply->said.flags & CORRAL_BUG_DEAD_LEADER) != 0, survives);
}

TEST_F(InitBirth, AProbeOfAGroupThatIsInUseIsRefused) {
  start_spawner();
  const cgroup::Group used = make("used");
  const cgroup::Child member(used, cgroup::linger);
  Connection connection(socket());
  connection.send(CORRAL_PROBE, {used.fd()});
  EXPECT_EQ(connection.receive()->outcome(), "request: 16");
  EXPECT_THAT(members_of(used), ElementsAre(member.pid()));
}

TEST_F(InitBirth, AProbeDoesNotHoldUpAStart) {
  start_spawner();
  const cgroup::Group throw_away = make("throw-away");
  Connection connection(socket());
  connection.send(CORRAL_PROBE, {throw_away.fd()});
  EXPECT_EQ(start(make_run(), {"true"}).outcome(), "executed: 0");
  EXPECT_TRUE(connection.receive());
}

struct Fault {
  const char* injection;
  const char* outcome;
};

class InitFault : public InitBirth, public testing::WithParamInterface<Fault> {};

TEST_P(InitFault, IsNamedAndLeavesNobody) {
  start_injected({GetParam().injection});
  if (IsSkipped()) return;
  expect_failure({.argv = {"true"}}, GetParam().outcome);
}

// The spawner makes each of these calls itself, or no one before the process that is meant does.
INSTANTIATE_TEST_SUITE_P(Start, InitFault,
                         testing::Values(Fault{"socketpair:error=EMFILE", "pipe: 24"},
                                         Fault{"clone3:error=EAGAIN", "clone supervisor: 11"},
                                         Fault{"clone3:error=ENOMEM", "clone supervisor: 12"},
                                         Fault{"pidfd_open:error=EMFILE", "pipe: 24"},
                                         Fault{"prctl:error=EINVAL", "new session: 22"},
                                         Fault{"setsid:error=EPERM", "new session: 1"},
                                         Fault{"pread64:error=EIO", "request: 5"},
                                         Fault{"fsetxattr:error=ENOSPC", "record driver: 28"},
                                         Fault{"fsetxattr:error=EOPNOTSUPP", "record driver: 95"},
                                         Fault{"keyctl:error=ENOMEM", "new session: 12"},
                                         Fault{"dup2:error=EBUSY", "open standard input: 16"},
                                         Fault{"prlimit64:error=EPERM", "set limits: 1"},
                                         Fault{"dup3:error=EMFILE", "pipe: 24"}));

TEST_F(InitBirth, AKeyringThatIsNotToBeHadIsNoFailure) {
  for (const char* error : {"ENOSYS", "EPERM", "EDQUOT"}) {
    start_injected({fmt::format("keyctl:error={}", error)});
    if (IsSkipped()) return;
    EXPECT_EQ(start(make_run(error), {"true"}).outcome(), "executed: 0");
    std::filesystem::rename(socket(), file(error));
  }
}

TEST_F(InitBirth, AnAttributeThatCannotBeWrittenStillLeavesTheFile) {
  start_injected({"fsetxattr:error=ENOSPC:when=2"});
  if (IsSkipped()) return;
  const RunDir run = make_run();
  ASSERT_TRUE(start(run, {"sh", "-c", "exit 3"}).executed());
  ASSERT_TRUE(eventually([&] { return run.exit_line().ends_with("\n"); }));
  EXPECT_EQ(must(run::parse_exit(run.exit_line())).status, 3);
  EXPECT_FALSE(run.exit());
}

// With every limit from what it has open to enough, a start works or says EMFILE and leaves nobody.
TEST_F(InitBirth, FdsMayRunOutAtAnyStep) {
  cgroup::Child& spawner = start_spawner();
  rlimit before{};
  ASSERT_EQ(prlimit(spawner.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  int failed = 0, executed = 0;
  for (rlim_t limit = 6; limit < 28; ++limit) {
    const rlimit few{.rlim_cur = limit, .rlim_max = before.rlim_max};
    ASSERT_EQ(prlimit(spawner.pid(), RLIMIT_NOFILE, &few, nullptr), 0);
    const std::string name = "limit-" + std::to_string(limit);
    const RunDir run = make_run(name);
    std::string outcome;
    try {
      outcome = run.start(socket(), {.argv = {"true"}}).outcome();
    } catch (const std::exception& gone) {
      outcome = std::string("turned away: ") + gone.what();
    }
    executed += outcome == "executed: 0";
    if (outcome == "executed: 0") continue;
    ++failed;
    EXPECT_THAT(outcome,
                testing::AnyOf(testing::EndsWith(": 24"), testing::StartsWith("turned away")));
    EXPECT_TRUE(run.becomes_empty()) << name;
  }
  EXPECT_GT(failed, 5);
  EXPECT_GT(executed, 5);
}

TEST_F(InitBirth, AClientThatCannotEvenBeTurnedAwayIsServedWhenItCan) {
  cgroup::Child& spawner = start_spawner();
  rlimit before{};
  ASSERT_EQ(prlimit(spawner.pid(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(prlimit(spawner.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  const RunDir run = make_run();
  const UniqueFd spec = memory_file(bytes_of({.argv = {"true"}}));
  Connection connection(socket());
  connection.send(CORRAL_START, run.fds(spec.get()));
  const auto naps = [&] { return std::stol(status_of(spawner.pid(), "voluntary_ctxt_switches")); };
  const long first = naps();
  EXPECT_TRUE(eventually([&] { return naps() > first + 1; }));  // it sleeps between two attempts
  ASSERT_EQ(prlimit(spawner.pid(), RLIMIT_NOFILE, &before, nullptr), 0);
  EXPECT_EQ(connection.receive()->outcome(), "executed: 0");
}

}  // namespace
}  // namespace corral::test
