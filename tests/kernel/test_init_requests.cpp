// Requests that are wrong, slow, many or another's, and the socket that they come over.
#include <grp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <fstream>
#include <random>

#include "init_test.h"

extern "C" {
#include "init/spec.h"
}

namespace corral::test {
namespace {

const Spec kTrue{.argv = {"true"}};

// A spec with a few bytes changed, cut off or added, in the header more often than elsewhere.
std::string mutated(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const size_t changes = 1 + below(4);
  for (size_t i = 0; i < changes; ++i) {
    const size_t at = below(2) == 0 ? below(sizeof(corral_spec)) : below(bytes.size());
    if (at < bytes.size()) bytes[at] = static_cast<char>(below(256));
  }
  if (below(4) == 0) bytes.resize(below(bytes.size() + 64) + 1, 'x');
  return bytes;
}

class InitRequest : public InitTest {
 protected:
  void SetUp() override {
    InitTest::SetUp();
    if (!IsSkipped()) spawner_ = &start_spawner();
  }
  cgroup::Child& spawner() { return *spawner_; }

  std::string outcome_of(const std::string& spec_bytes) {
    const RunDir run = make_run("garbage");
    const UniqueFd spec = memory_file(spec_bytes);
    Connection connection(socket());
    connection.send(CORRAL_START, run.fds(spec.get()));
    const auto reply = connection.receive();
    // A mutation may well be a spec: then it runs, or fails to.
    EXPECT_TRUE(cgroup::kill(run.run()));
    EXPECT_TRUE(run.becomes_empty());
    remove("garbage");
    return reply ? reply->outcome() : "end of file";
  }
  // The answer to a start with these fds instead of the due ones.
  std::string outcome_with(const std::vector<int>& fds) {
    Connection connection(socket());
    connection.send(CORRAL_START, fds);
    const auto reply = connection.receive();
    return reply ? reply->outcome() : "end of file";
  }
  std::string still_works(const std::string& name = "works") {
    return start(make_run(name), {"true"}).outcome();
  }

 private:
  cgroup::Child* spawner_ = nullptr;
};

TEST_F(InitRequest, GarbageForASpecIsRefusedAtTheRequest) {
  std::string header(sizeof(corral_spec), '\0');
  for (const std::string& garbage :
       {std::string(), std::string("x"), header, std::string(4096, '\xff')})
    EXPECT_THAT(outcome_of(garbage), testing::StartsWith("request: ")) << garbage.size();
  std::string other_protocol = bytes_of(kTrue);
  other_protocol[0] = 99;
  EXPECT_EQ(outcome_of(other_protocol), "request: 93");
  EXPECT_EQ(outcome_of(bytes_of(kTrue) + "x"), "request: 74");
  Spec no_arguments = kTrue;
  no_arguments.argv.clear();
  EXPECT_EQ(outcome_of(bytes_of(no_arguments)), "request: 74");
  Spec bad_stream = kTrue;
  bad_stream.streams[1].kind = 4;
  EXPECT_EQ(outcome_of(bytes_of(bad_stream)), "request: 74");
}

TEST_F(InitRequest, AThousandMutatedSpecsEachGetAnAnswer) {
  std::mt19937 random(20261130);
  const std::string good =
      bytes_of({.argv = {"true", "one", "two"}, .environment = {"A=1", "B=2"}});
  for (int i = 0; i < 1000; ++i) {
    ASSERT_NE(outcome_of(mutated(good, random)), "end of file") << "mutation " << i;
  }
  EXPECT_EQ(still_works(), "executed: 0");
}

TEST(InitSpec, NoMutationMakesTheParserStray) {
  std::mt19937 random(1130);
  const std::string good =
      bytes_of({.argv = {"true", "one", "two"}, .environment = {"A=1", "B=2"}});
  int parsed = 0;
  for (int i = 0; i < 20000; ++i) {
    const UniqueFd file = memory_file(mutated(good, random));
    spec spec{};
    if (spec_read(file.get(), &spec) < 0) continue;
    ++parsed;
    size_t length = 0;  // walks all of it
    for (char** entry = spec.argv; *entry != nullptr; ++entry) length += std::string(*entry).size();
    for (char** entry = spec.envp; *entry != nullptr; ++entry) length += std::string(*entry).size();
    EXPECT_LT(length, good.size() + 64);
    EXPECT_LE(spec_fds(&spec), 3u);
    spec_free(&spec);
  }
  EXPECT_GT(parsed, 100);
}

TEST_F(InitRequest, TheNumberOfFdsMustBeTheDueOne) {
  const RunDir run = make_run();
  const UniqueFd spec = memory_file(bytes_of(kTrue));
  std::vector<int> fds = run.fds(spec.get());
  fds.pop_back();
  EXPECT_EQ(outcome_with(fds), "request: 74");
  EXPECT_EQ(outcome_with({}), "request: 74");
  fds = run.fds(spec.get());
  for (int extra = 0; extra < 5; ++extra) {
    fds.push_back(spec.get());
    EXPECT_EQ(outcome_with(fds), "request: 74") << fds.size();
  }
  EXPECT_TRUE(run.becomes_empty());
  EXPECT_EQ(still_works(), "executed: 0");
}

TEST_F(InitRequest, AnotherProtocolAndAnUnknownKindAreRefused) {
  Connection other(socket());
  other.send(CORRAL_START, {}, CORRAL_PROTOCOL + 1);
  EXPECT_EQ(other.receive()->outcome(), "request: 93");
  Connection unknown(socket());
  unknown.send(77, {});
  EXPECT_EQ(unknown.receive()->outcome(), "request: 74");
  Connection brief(socket());
  brief.send("x", 1, {});
  EXPECT_EQ(brief.receive()->outcome(), "request: 74");
  Connection lengthy(socket());
  const std::string much(60000, 'x');
  lengthy.send(much.data(), much.size(), {});
  EXPECT_THAT(lengthy.receive()->outcome(), testing::StartsWith("request: "));
}

TEST_F(InitRequest, RefusedRequestsLeaveNoFdBehind) {
  const std::string fds = fmt::format("/proc/{}/fd", spawner().pid());
  const auto count = [&] { return std::distance(std::filesystem::directory_iterator(fds), {}); };
  const auto before = count();
  const RunDir run = make_run();
  const UniqueFd spec = memory_file("garbage");
  for (int i = 0; i < 50; ++i) {
    (void)outcome_with(run.fds(spec.get()));
    (void)outcome_with({spec.get(), spec.get()});
    Connection gone(socket());
  }
  EXPECT_TRUE(eventually([&] { return count() <= before; })) << count();
}

TEST_F(InitRequest, ASlowClientHoldsUpNobodyAndIsDroppedInTheEnd) {
  Connection slow(socket());
  EXPECT_EQ(still_works(), "executed: 0");
  EXPECT_FALSE(slow.receive());  // end of file: its time was over
}

TEST_F(InitRequest, MoreSlowClientsThanPlacesAreDroppedAndTheNextIsServed) {
  std::vector<Connection> slow;
  for (int i = 0; i < 100; ++i) slow.emplace_back(socket());
  EXPECT_EQ(still_works(), "executed: 0");
}

TEST_F(InitRequest, APeerOfAnotherUidIsRefused) {
  std::filesystem::permissions(directory(), std::filesystem::perms{0755});
  ASSERT_EQ(chmod(socket().c_str(), 0666), 0);
  cgroup::Child other(service(), [&] {
    constexpr uid_t kNobody = 65534;
    if (setgroups(0, nullptr) < 0 || setresgid(kNobody, kNobody, kNobody) < 0 ||
        setresuid(kNobody, kNobody, kNobody) < 0)
      return 1;
    Connection connection(socket());
    connection.send(CORRAL_PROBE, {STDIN_FILENO});
    const auto reply = connection.receive();
    return reply && reply->outcome() == "request: 1" ? 0 : 2;
  });
  EXPECT_EQ(other.wait(), 0);
}

TEST_F(InitRequest, TheSocketIsForItsOwnerAlone) {
  struct stat status {};
  ASSERT_EQ(stat(socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0600u);
}

TEST_F(InitRequest, TermAndIntEndTheSpawnerAndUnlinkItsSocket) {
  for (const int number : {SIGTERM, SIGINT}) {
    const std::string name = "socket-" + std::to_string(number);
    cgroup::Child& ending = start_spawner({.socket = name});
    ASSERT_TRUE(std::filesystem::exists(file(name)));
    ASSERT_TRUE(ending.pidfd().signal(number));
    EXPECT_EQ(ending.wait(), 0);
    EXPECT_FALSE(std::filesystem::exists(file(name)));
  }
}

TEST_F(InitRequest, ASocketWithAListenerIsNotTakenAndADeadOneIs) {
  cgroup::Child second(service(), [&] {
    (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    execl(CORRAL_INIT, CORRAL_INIT, "--spawn", socket().c_str(), nullptr);
    return 127;
  });
  EXPECT_EQ(second.wait(), 71);
  EXPECT_EQ(still_works("first"), "executed: 0");
  ASSERT_TRUE(spawner().pidfd().signal(SIGKILL));
  (void)spawner().wait();
  ASSERT_TRUE(std::filesystem::exists(socket()));
  start_spawner();
  EXPECT_EQ(still_works("second"), "executed: 0");
}

TEST_F(InitRequest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(file("precious")) << "data";
  cgroup::Child wrong(service(), [&] {
    (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    execl(CORRAL_INIT, CORRAL_INIT, "--spawn", file("precious").c_str(), nullptr);
    return 127;
  });
  EXPECT_EQ(wrong.wait(), 71);
  EXPECT_EQ(slurp(file("precious")), "data");
}

TEST_F(InitRequest, APassedSocketIsServedAndNotUnlinked) {
  const UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  file("passed").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(listen(listening.get(), 8), 0);
  cgroup::Child& passed =
      start_spawner({.before_exec =
                         [&] {
                           (void)dup2(listening.get(), 3);
                           (void)setenv("LISTEN_FDS", "1", 1);
                           (void)setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
                         },
                     .socket = "unused"});
  EXPECT_FALSE(std::filesystem::exists(file("unused")));
  const RunDir run = make_run();
  EXPECT_EQ(run.start(file("passed"), kTrue).outcome(), "executed: 0");
  ASSERT_TRUE(passed.pidfd().signal(SIGTERM));
  EXPECT_EQ(passed.wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(file("passed")));
}

TEST_F(InitRequest, ReadinessIsToldToTheManager) {
  const UniqueFd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  file("notify").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(manager.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto listen_to = [&] { (void)setenv("NOTIFY_SOCKET", address.sun_path, 1); };
  const auto told = [&] {
    char text[64];
    const ssize_t length = recv(manager.get(), text, sizeof text, MSG_DONTWAIT);
    return std::string(text, length < 0 ? 0 : static_cast<size_t>(length));
  };
  start_spawner({.before_exec = listen_to, .socket = "other"});
  EXPECT_EQ(told(), "READY=1");
  cgroup::Child& keeper = start_program({CORRAL_INIT, "--keep"}, listen_to);
  EXPECT_EQ(told(), "READY=1");
  EXPECT_EQ(slurp(fmt::format("/proc/{}/comm", keeper.pid())), "corral-keeper\n");
  ASSERT_TRUE(keeper.pidfd().signal(SIGTERM));
  EXPECT_EQ(keeper.wait(), 0);
}

TEST_F(InitRequest, AWrongCommandLineExitsWith64AndUsage) {
  const auto status_of_arguments = [&](std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), CORRAL_INIT);
    arguments.push_back(nullptr);
    cgroup::Child child(service(), [&] {
      (void)dup2(open(file("said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      (void)dup2(STDERR_FILENO, STDOUT_FILENO);
      execv(CORRAL_INIT, const_cast<char**>(arguments.data()));
      return 127;
    });
    return child.wait();
  };
  for (const std::vector<const char*>& wrong : {std::vector<const char*>{},
                                                {"--spawn"},
                                                {"--keep", "--spawn", "x"},
                                                {"x"},
                                                {"--keep", "--ready-fd=x"}}) {
    EXPECT_EQ(status_of_arguments(wrong), 64);
    EXPECT_THAT(slurp(file("said")), testing::HasSubstr("--spawn SOCKET"));
  }
  EXPECT_EQ(status_of_arguments({"--version"}), 0);
  EXPECT_THAT(slurp(file("said")), testing::StartsWith("corral-init "));
  EXPECT_EQ(status_of_arguments({"--help"}), 0);
}

}  // namespace
}  // namespace corral::test
