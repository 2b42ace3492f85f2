// A start by corral-init: what is answered, what is recorded, and how it fails.
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>

#include "init_test.h"

namespace corral::test {
namespace {

using testing::ElementsAre;

class InitStart : public InitTest {
 protected:
  void SetUp() override {
    InitTest::SetUp();
    if (!IsSkipped()) start_spawner();
  }
};

TEST_F(InitStart, AStartAnswersWithThePidfdsOfSupervisorAndDriver) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sleep", "60"});
  ASSERT_TRUE(reply.executed()) << reply.outcome();
  EXPECT_EQ(reply.said.flags, 0u);
  EXPECT_THAT(members_of(run.init()), ElementsAre(reply.said.supervisor));
  EXPECT_THAT(members_of(run.work()), ElementsAre(reply.said.driver));
  const auto pid_of = [](int pidfd) {
    const std::string info = slurp("/proc/self/fdinfo/" + std::to_string(pidfd));
    return std::stoi(info.substr(info.find("\nPid:") + 5));
  };
  EXPECT_EQ(pid_of(reply.fds[0].get()), reply.said.supervisor);
  EXPECT_EQ(pid_of(reply.fds[1].get()), reply.said.driver);
}

TEST_F(InitStart, DriverAndSupervisorAreOnRecordWhenTheDriverRuns) {
  const RunDir run = make_run();
  const Reply reply = start(run, {"sleep", "60"});
  ASSERT_TRUE(reply.executed()) << reply.outcome();
  const auto members = run.members();
  ASSERT_TRUE(members);
  EXPECT_EQ(members->driver.pid, static_cast<uint32_t>(reply.said.driver));
  EXPECT_EQ(members->supervisor.pid, static_cast<uint32_t>(reply.said.supervisor));
  EXPECT_EQ(members->driver.start_time, cgroup::start_time(reply.said.driver));
  EXPECT_EQ(members->supervisor.start_time, cgroup::start_time(reply.said.supervisor));
}

struct Ending {
  const char* script;
  const char* recorded;
};

class InitExit : public InitStart, public testing::WithParamInterface<Ending> {};

TEST_P(InitExit, IsRecordedInTheAttributeAndInTheFile) {
  const RunDir run = make_run();
  ASSERT_TRUE(start(run, {"sh", "-c", GetParam().script}).executed());
  EXPECT_EQ(run.awaited_exit(), GetParam().recorded);
  EXPECT_TRUE(eventually([&] { return run.exit_line().ends_with("\n"); }));
  const auto in_file = run::parse_exit(run.exit_line());
  ASSERT_TRUE(in_file) << in_file.error().message;
  EXPECT_EQ(in_file->status, run.exit()->status);
  EXPECT_TRUE(eventually([&] { return members_of(run.work()).empty(); }));
}

INSTANTIATE_TEST_SUITE_P(Driver, InitExit,
                         testing::Values(Ending{"exit 0", "exited 0"}, Ending{"exit 7", "exited 7"},
                                         Ending{"exit 255", "exited 255"},
                                         Ending{"kill -TERM $$", "killed 15"},
                                         Ending{"kill -KILL $$", "killed 9"},
                                         Ending{"ulimit -c 0; kill -SEGV $$", "killed 11"},
                                         Ending{"exec sh -c 'exit 3'", "exited 3"}));

TEST_F(InitStart, ACoreDumpIsRecordedAsOneWhereTheKernelDumps) {
  const std::string script =
      "ulimit -c unlimited 2>/dev/null; cd " + directory() + "; kill -SEGV $$";
  const pid_t pid = fork();
  if (pid == 0) {
    execlp("sh", "sh", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSIGNALED(status));
  const RunDir run = make_run();
  ASSERT_TRUE(start(run, {"sh", "-c", script}).executed());
  EXPECT_EQ(run.awaited_exit(), WCOREDUMP(status) ? "dumped 11" : "killed 11");
}

TEST_F(InitStart, TheExitSaysWhenOnBothClocks) {
  const base::Moment before = base::Moment::now();
  const RunDir run = make_run();
  ASSERT_TRUE(start(run, {"true"}).executed());
  ASSERT_EQ(run.awaited_exit(), "exited 0");
  const base::Moment when = run.exit()->when, after = base::Moment::now();
  EXPECT_LE(before.realtime_usec, when.realtime_usec);
  EXPECT_LE(before.monotonic_usec, when.monotonic_usec);
  EXPECT_LE(when.realtime_usec, after.realtime_usec);
  EXPECT_LE(when.monotonic_usec, after.monotonic_usec);
}

TEST_F(InitStart, AFullExitFileDoesNotStopTheAttribute) {
  const RunDir run = make_run();
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  const UniqueFd spec = memory_file(bytes_of({.argv = {"sh", "-c", "exit 4"}}));
  std::vector<int> fds = run.fds(spec.get());
  fds.back() = full.get();
  Connection connection(socket());
  connection.send(CORRAL_START, fds);
  ASSERT_TRUE(connection.receive()->executed());
  EXPECT_EQ(run.awaited_exit(), "exited 4");
}

TEST_F(InitStart, AMissingProgramFailsAtExec) {
  expect_failure({.argv = {"/no/such/program"}}, "exec: 2");
  expect_failure({.argv = {"no-such-program"}}, "exec: 2");
  expect_failure({.argv = {""}}, "exec: 2");
}

TEST_F(InitStart, AProgramThatIsNotExecutableFailsAtExec) {
  std::ofstream(file("plain")) << "text";
  expect_failure({.argv = {file("plain")}}, "exec: 13");
  expect_failure({.argv = {directory()}}, "exec: 13");
}

TEST_F(InitStart, ArgumentsPastTheKernelsLimitFailAtExec) {
  expect_failure({.argv = {"true", std::string(1 << 20, 'x')}}, "exec: 7");
  expect_failure({.argv = std::vector<std::string>(300000, "true")}, "exec: 7");
}

TEST_F(InitStart, AMissingWorkingDirectoryFailsThere) {
  expect_failure({.argv = {"true"}, .directory = "/no/such/directory"}, "change directory: 2");
}

TEST_F(InitStart, StreamsThatCannotBeOpenedFailAtTheirName) {
  const Stream bad{CORRAL_STREAM_APPEND, "/no/such/file", -1};
  expect_failure({.argv = {"true"}, .streams = {bad, {}, {}}}, "open standard input: 2");
  expect_failure({.argv = {"true"}, .streams = {Stream{}, bad, {}}}, "open standard output: 2");
  expect_failure({.argv = {"true"}, .streams = {Stream{}, {}, bad}}, "open standard error: 2");
}

TEST_F(InitStart, AFifoThatNobodyReadsIsAnErrorAndNoHang) {
  ASSERT_EQ(mkfifo(file("fifo").c_str(), 0600), 0);
  const Stream fifo{CORRAL_STREAM_APPEND, file("fifo"), -1};
  expect_failure({.argv = {"true"}, .streams = {Stream{}, fifo, {}}}, "open standard output: 6");
}

TEST_F(InitStart, AppendKeepsWhatIsThereAndTruncateDoesNot) {
  for (const auto& [kind, expected] :
       {std::pair{CORRAL_STREAM_APPEND, "old\nnew\n"}, {CORRAL_STREAM_TRUNCATE, "new\n"}}) {
    std::ofstream(file("stream")) << "old\n";
    const RunDir run = make_run(std::string("run-") + std::to_string(kind));
    const Stream stream{static_cast<uint32_t>(kind), file("stream"), -1};
    ASSERT_TRUE(run.start(socket(), {.argv = {"echo", "new"}, .streams = {Stream{}, stream, {}}})
                    .executed());
    ASSERT_EQ(run.awaited_exit(), "exited 0");
    EXPECT_EQ(slurp(file("stream")), expected);
  }
}

TEST_F(InitStart, StandardInputIsReadFromAFile) {
  std::ofstream(file("input")) << "from a file\n";
  const RunDir run = make_run();
  const Stream input{CORRAL_STREAM_APPEND, file("input"), -1};
  const Stream output{CORRAL_STREAM_TRUNCATE, file("output"), -1};
  ASSERT_TRUE(
      run.start(socket(), {.argv = {"cat"}, .streams = {input, output, Stream{}}}).executed());
  ASSERT_EQ(run.awaited_exit(), "exited 0");
  EXPECT_EQ(slurp(file("output")), "from a file\n");
}

TEST_F(InitStart, PassedStreamsGoWhereTheyBelongAndNowhereElse) {
  int in[2], out[2], err[2];
  ASSERT_EQ(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
  const UniqueFd ours[] = {UniqueFd(in[1]), UniqueFd(out[0]), UniqueFd(err[0])};
  {
    const UniqueFd theirs[] = {UniqueFd(in[0]), UniqueFd(out[1]), UniqueFd(err[1])};
    const RunDir run = make_run();
    const auto passed = [](int fd) { return Stream{CORRAL_STREAM_FD, "", fd}; };
    ASSERT_TRUE(run.start(socket(), {.argv = {"sh", "-c", "read line; echo $line; echo e >&2"},
                                     .streams = {passed(in[0]), passed(out[1]), passed(err[1])}})
                    .executed());
    ASSERT_EQ(write(in[1], "hello\n", 6), 6);
    ASSERT_EQ(run.awaited_exit(), "exited 0");
  }
  // End of file comes although the supervisor lives: it keeps no copy.
  char text[16];
  EXPECT_EQ(std::string(text, static_cast<size_t>(read(out[0], text, sizeof text))), "hello\n");
  ASSERT_TRUE(readable(out[0], 10000));
  EXPECT_EQ(read(out[0], text, sizeof text), 0);
  EXPECT_EQ(std::string(text, static_cast<size_t>(read(err[0], text, sizeof text))), "e\n");
}

TEST_F(InitStart, ASupervisorWhoseClientWentAwayStillRecords) {
  const RunDir run = make_run();
  {
    const UniqueFd spec = memory_file(bytes_of({.argv = {"sh", "-c", "exit 5"}}));
    Connection connection(socket());
    connection.send(CORRAL_START, run.fds(spec.get()));
  }
  EXPECT_EQ(run.awaited_exit(), "exited 5");
}

TEST_F(InitStart, ADirectoryThatIsNoCgroupFailsAtTheClone) {
  const RunDir run = make_run();
  const UniqueFd spec = memory_file(bytes_of({.argv = {"true"}}));
  const UniqueFd plain(open(directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const auto& [index, outcome] :
       {std::pair{2u, "clone supervisor: 9"}, {3u, "clone driver: 9"}}) {
    std::vector<int> fds = run.fds(spec.get());
    fds[index] = plain.get();
    Connection connection(socket());
    connection.send(CORRAL_START, fds);
    EXPECT_EQ(connection.receive()->outcome(), outcome);
    EXPECT_TRUE(run.becomes_empty());
  }
}

TEST_F(InitStart, AWorkDirectoryThatIsGoneFailsAtTheClone) {
  const RunDir run = make_run();
  ASSERT_EQ(unlinkat(run.run().fd(), "work", AT_REMOVEDIR), 0);
  EXPECT_EQ(start(run, {"true"}).said.step, static_cast<uint32_t>(CORRAL_STEP_CLONE_DRIVER));
  EXPECT_TRUE(eventually([&] { return members_of(run.init()).empty(); }));
}

}  // namespace
}  // namespace corral::test
