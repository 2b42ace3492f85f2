// What a driver gets, read by the driver itself (init_witness.c), whatever its spawner was given.
#include <linux/keyctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fstream>
#include <map>

#include "base/file.h"
#include "init_test.h"

namespace corral::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr rlim_t kHardFiles = 4000;

// A spawner whose starter was careless about everything.
void be_careless() {
  for (const int number : {SIGPIPE, SIGCHLD, SIGHUP, SIGINT, SIGUSR1, SIGRTMIN + 3})
    (void)signal(number, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  (void)sigprocmask(SIG_SETMASK, &all, nullptr);
  (void)umask(077);
  const rlimit files{.rlim_cur = kHardFiles, .rlim_max = kHardFiles};
  (void)setrlimit(RLIMIT_NOFILE, &files);
  for (int fd = 200; fd < 210; ++fd) (void)dup2(STDERR_FILENO, fd);  // leaks ten fds
  (void)chdir("/tmp");
  (void)setenv("CARELESS", "1", 1);
  (void)close(STDIN_FILENO);
  (void)close(STDOUT_FILENO);
  (void)close(STDERR_FILENO);
}

class InitSurroundings : public InitTest {
 protected:
  void SetUp() override {
    InitTest::SetUp();
    if (IsSkipped()) return;
    start_spawner({.before_exec = be_careless});
    run_.emplace(make_run());
  }
  void TearDown() override {
    run_.reset();
    reply_.fds.clear();
    InitTest::TearDown();
  }

  // Runs the witness and takes its lines in.
  void look(const Spec& wanted) {
    Spec spec = wanted;
    spec.streams[1] = {CORRAL_STREAM_TRUNCATE, file("seen"), -1};
    reply_ = run_->start(socket(), spec);
    ASSERT_TRUE(reply_.executed()) << reply_.outcome();
    ASSERT_EQ(run_->awaited_exit(), "exited 0");
    std::ifstream seen(file("seen"));
    for (std::string line; std::getline(seen, line);) {
      const size_t equals = line.find('=');
      seen_[line.substr(0, equals)].push_back(line.substr(equals + 1));
    }
    ASSERT_EQ(one("end"), "1");
  }
  void look() { look({.argv = {CORRAL_WITNESS}}); }
  std::string one(const std::string& key) {
    return seen_[key].size() == 1 ? seen_[key].front() : "not one";
  }
  const std::vector<std::string>& all(const std::string& key) { return seen_[key]; }
  const Reply& reply() const { return reply_; }

 private:
  std::map<std::string, std::vector<std::string>> seen_;
  Reply reply_;
  std::optional<RunDir> run_;
};

TEST_F(InitSurroundings, NoSignalIsIgnoredAndNoneBlocked) {
  look();
  EXPECT_EQ(one("status.SigIgn"), "0000000000000000");
  EXPECT_EQ(one("status.SigBlk"), "0000000000000000");
  EXPECT_EQ(one("status.SigPnd"), "0000000000000000");
}

TEST_F(InitSurroundings, ItLeadsASessionOfItsOwn) {
  look();
  EXPECT_EQ(one("pid"), std::to_string(reply().said.driver));
  EXPECT_EQ(one("sid"), one("pid"));
  EXPECT_EQ(one("pgid"), one("pid"));
  EXPECT_EQ(one("ppid"), std::to_string(reply().said.supervisor));
}

TEST_F(InitSurroundings, ItHasASessionKeyringOfItsOwn) {
  const long ours = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
  if (ours < 0 && errno == ENOSYS) GTEST_SKIP() << "a kernel without keyrings";
  look();
  EXPECT_THAT(one("keyring"), testing::Not(testing::AnyOf("-1", std::to_string(ours))));
}

TEST_F(InitSurroundings, ItsMaskIs022AndItsFileLimit1024) {
  look();
  EXPECT_EQ(one("status.Umask"), "0022");
  EXPECT_EQ(one("soft"), "1024");
  EXPECT_EQ(one("hard"), std::to_string(kHardFiles));
}

TEST_F(InitSurroundings, ItsThreeFdsAreAllItHas) {
  look();
  EXPECT_THAT(all("fd"), ElementsAre("0", "1", "2"));
  EXPECT_EQ(one("fd.0"), "/dev/null");
  EXPECT_EQ(one("fd.1"), file("seen"));
  EXPECT_EQ(one("fd.2"), "/dev/null");
  const auto access = [&](int fd) {
    return std::stoi(one("flags." + std::to_string(fd)), nullptr, 8) & (O_ACCMODE | O_NONBLOCK);
  };
  EXPECT_EQ(access(0), O_RDONLY);
  EXPECT_EQ(access(1), O_WRONLY);
  EXPECT_EQ(access(2), O_WRONLY);
}

TEST_F(InitSurroundings, TheOomScoreIsZeroAndTheSupervisorsIsTheLeastAllowed) {
  cgroup::Child allowed(group(), [&] {
    return base::write_at(AT_FDCWD, "/proc/self/oom_score_adj", "-1000") ? 0 : 1;
  });
  const std::string least = allowed.wait() == 0 ? "-1000\n" : "0\n";
  look();
  EXPECT_EQ(one("oom"), "0");
  EXPECT_EQ(slurp(fmt::format("/proc/{}/oom_score_adj", reply().said.supervisor)), least);
}

TEST_F(InitSurroundings, TheEnvironmentIsExactlyAsGiven) {
  look({.argv = {CORRAL_WITNESS}, .environment = {"B=2", "A=1", "A=again", "EMPTY=", "C=x=y"}});
  EXPECT_THAT(all("env"), ElementsAre("B=2", "A=1", "A=again", "EMPTY=", "C=x=y"));
}

TEST_F(InitSurroundings, TheEnvironmentMayBeEmpty) {
  look({.argv = {CORRAL_WITNESS}, .environment = {}});
  EXPECT_THAT(all("env"), IsEmpty());
}

TEST_F(InitSurroundings, TheArgumentsAreExactlyAsGiven) {
  look({.argv = {CORRAL_WITNESS, "", "two words", "\xff"}});
  EXPECT_THAT(all("argv"), ElementsAre(CORRAL_WITNESS, "", "two words", "\xff"));
}

TEST_F(InitSurroundings, TheCommandIsFoundOnThePathOfItsOwnEnvironment) {
  std::filesystem::create_symlink(CORRAL_WITNESS, file("only-here"));
  look({.argv = {"only-here"}, .environment = {"PATH=/nowhere:" + directory()}});
  EXPECT_THAT(all("argv"), ElementsAre("only-here"));
}

TEST_F(InitSurroundings, TheWorkingDirectoryIsAsGiven) {
  look({.argv = {CORRAL_WITNESS}, .directory = directory()});
  EXPECT_EQ(one("cwd"), directory());
}

TEST_F(InitSurroundings, ItSitsInWorkAndItsSupervisorInInit) {
  look();
  EXPECT_THAT(all("cgroup"), testing::Contains(testing::EndsWith("/run/work")));
  EXPECT_THAT(slurp(fmt::format("/proc/{}/cgroup", reply().said.supervisor)),
              testing::HasSubstr("/run/init\n"));
}

TEST_F(InitSurroundings, NothingElseIsImposedOnIt) {
  look();
  EXPECT_EQ(one("status.NoNewPrivs"), "0");
  EXPECT_EQ(one("status.Seccomp"), status_of(getpid(), "Seccomp"));
  EXPECT_EQ(one("death_signal"), "0");
  EXPECT_EQ(one("comm"), "init_witness");
}

TEST_F(InitSurroundings, TheSupervisorKeepsFourFdsAndNoneOfItsClients) {
  look();
  const std::string fds = fmt::format("/proc/{}/fd", reply().said.supervisor);
  EXPECT_TRUE(
      eventually([&] { return std::distance(std::filesystem::directory_iterator(fds), {}) == 4; }));
  EXPECT_EQ(std::filesystem::read_symlink(fmt::format("/proc/{}/cwd", reply().said.supervisor)),
            "/");
  EXPECT_EQ(slurp(fmt::format("/proc/{}/comm", reply().said.supervisor)), "corral-init\n");
}

}  // namespace
}  // namespace corral::test
