#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "cgroup/mount.h"
#include "daemon/root.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral {
namespace {

using harness::Dict;
using harness::error_of;
using harness::must;
using harness::value;
using testing::Test;

constexpr const char* kInvalidArgs = "org.freedesktop.DBus.Error.InvalidArgs";
constexpr const char* kNotSupported = "org.freedesktop.DBus.Error.NotSupported";

std::string ours(const std::string& name) {
  return harness::kErrorPrefix + name;
}

Dict path_only() {
  return {{"Environment", std::vector<std::string>{"PATH=/usr/bin:/bin"}}};
}
Dict with(Dict options, const std::string& key, sdbus::Variant option) {
  options[key] = std::move(option);
  return options;
}

// Each refusal says what, on what, and why; the stack checks at its end that nothing is left.
class ServiceBadInput : public Test {
 protected:
  std::string start_error(const std::string& id, const std::vector<std::string>& argv,
                          const Dict& options = path_only()) {
    const auto answer = stack_.client().start_run(id, argv, options);
    message_ = answer ? "" : answer.error().message;
    return error_of(answer);
  }
  bool says(const std::string& part) const { return message_.find(part) != std::string::npos; }

  harness::Stack stack_;
  std::string message_;
};

TEST_F(ServiceBadInput, AnIdOutsideThePatternIsRefused) {
  for (const std::string id : {"", "-x", ".x", "a b", "a/b", "ü", "a\n"}) {
    EXPECT_EQ(start_error(id, {"true"}), kInvalidArgs) << id;
  }
  EXPECT_EQ(start_error(std::string(129, 'a'), {"true"}), kInvalidArgs);
  EXPECT_EQ(start_error(std::string(128, 'a'), {"true"}), "");
  must(stack_.client().wait_run(std::string(128, 'a')));
}

TEST_F(ServiceBadInput, AnEmptyArgvIsRefused) {
  EXPECT_EQ(start_error("r", {}), kInvalidArgs);
  EXPECT_EQ(start_error("r", {""}), kInvalidArgs);
}

TEST_F(ServiceBadInput, AnArgvOverTheKernelsLimitFailsAtExec) {
  EXPECT_EQ(start_error("r", {"true", std::string(4U << 20, 'x')}), ours("StartFailed"));
  EXPECT_TRUE(says("exec \"true\": Argument list too long")) << message_;
  const auto report = must(stack_.client().get_report("r"));
  EXPECT_EQ(value<std::string>(report, "Result"), "start-failed");
  EXPECT_NE(value<std::string>(report, "EndMessage").find("exec"), std::string::npos);
}

TEST_F(ServiceBadInput, AFieldThatIsTooLongIsNamed) {
  for (const std::string field : {"Owner", "Token", "Description"}) {
    EXPECT_EQ(start_error("r", {"true"}, {{field, std::string(257, 'x')}}), ours("LimitExceeded"));
    EXPECT_TRUE(says(field)) << message_;
  }
}

TEST_F(ServiceBadInput, AnUnknownOptionAndAWrongTypeAreNamed) {
  EXPECT_EQ(start_error("r", {"true"}, {{"Colour", std::string("red")}}), kInvalidArgs);
  EXPECT_TRUE(says("Colour")) << message_;
  EXPECT_EQ(start_error("r", {"true"}, {{"GraceUSec", std::string("5s")}}), kInvalidArgs);
  EXPECT_TRUE(says("GraceUSec")) << message_;
  EXPECT_EQ(start_error("r", {"true"}, {{"OnDriverExit", std::string("thaw")}}), kInvalidArgs);
  EXPECT_TRUE(says("OnDriverExit")) << message_;
  EXPECT_EQ(start_error("r", {"true"}, {{"StandardOutput", std::string("journal")}}),
            kNotSupported);
}

TEST_F(ServiceBadInput, AnUnknownRunIsNamedInEveryMethod) {
  auto& client = stack_.client();
  const auto no_such_run = ours("NoSuchRun");
  EXPECT_EQ(error_of(client.end_run("x")), no_such_run);
  EXPECT_EQ(error_of(client.wait_run("x")), no_such_run);
  EXPECT_EQ(error_of(client.get_report("x")), no_such_run);
  EXPECT_EQ(error_of(client.signal_run("x", "all", 15)), no_such_run);
  EXPECT_EQ(error_of(client.get_run("x")), no_such_run);
  EXPECT_EQ(error_of(client.list_processes({{"Run", std::string("x")}})), no_such_run);
  EXPECT_EQ(error_of(client.list_leaks({{"Run", std::string("x")}})), no_such_run);
  EXPECT_EQ(error_of(client.forget_run("x")), no_such_run);
}

TEST_F(ServiceBadInput, AWrongInvocationTouchesNothing) {
  must(stack_.client().start_run("r", {"sleep", "100"}, path_only()));
  const Dict wrong = {{"Invocation", std::string(32, '0')}};
  EXPECT_EQ(error_of(stack_.client().end_run("r", wrong)), ours("InvocationMismatch"));
  EXPECT_EQ(error_of(stack_.client().signal_run("r", "all", 9, wrong)), ours("InvocationMismatch"));
  EXPECT_TRUE(stack_.client().wait_state("r", "running"));
  must(stack_.client().end_run("r"));
}

TEST_F(ServiceBadInput, ARunWithoutADriverIsNotSignalled) {
  must(stack_.client().start_run("r", {"true"}, path_only()));
  must(stack_.client().wait_run("r"));
  EXPECT_EQ(error_of(stack_.client().signal_run("r", "driver", 15)), ours("RunBusy"));
  EXPECT_EQ(error_of(stack_.client().signal_run("r", "all", 15)), ours("RunBusy"));
}

TEST_F(ServiceBadInput, ASecondLiveRunOfTheIdIsRefusedAndATokenAnswersTheFirst) {
  const auto options = with(path_only(), "Token", std::string("t1"));
  const auto first = must(stack_.client().start_run("r", {"sleep", "100"}, options));
  EXPECT_EQ(start_error("r", {"sleep", "100"}), ours("RunExists"));
  EXPECT_TRUE(says(first.invocation)) << message_;
  EXPECT_EQ(must(stack_.client().start_run("r", {"sleep", "100"}, options)).invocation,
            first.invocation);
  EXPECT_EQ(error_of(stack_.client().forget_run("r")), ours("RunBusy"));
  must(stack_.client().end_run("r"));
  EXPECT_EQ(must(stack_.client().start_run("r", {"true"}, options)).invocation, first.invocation);
  must(stack_.client().forget_run("r"));
  EXPECT_NE(must(stack_.client().start_run("r", {"true"}, options)).invocation, first.invocation);
  must(stack_.client().wait_run("r"));
}

TEST_F(ServiceBadInput, AStepThatFailsInTheDriverIsNamed) {
  EXPECT_EQ(start_error("a", {"no-such-command"}), ours("StartFailed"));
  EXPECT_TRUE(says("exec \"no-such-command\": No such file or directory")) << message_;
  EXPECT_EQ(start_error("b", {"true"}, with(path_only(), "WorkingDirectory", std::string("/gone"))),
            ours("StartFailed"));
  EXPECT_TRUE(says("change directory \"/gone\": No such file or directory")) << message_;
  EXPECT_EQ(start_error("c", {"true"},
                        with(path_only(), "StandardOutput", std::string("append:/gone/x"))),
            ours("StartFailed"));
  EXPECT_TRUE(says("open standard output \"/gone/x\": No such file or directory")) << message_;
}

TEST_F(ServiceBadInput, AReportThatAFullDiskDoesNotTakeIsKeptAndStoredLater) {
  stack_.stop_corrald();
  const auto ended = stack_.state_dir() + "/ended";
  const auto filler = ended + "/filler";
  ASSERT_EQ(std::system(("mount -t tmpfs -o size=64k tmpfs " + ended).c_str()), 0);
  ASSERT_NE(std::system(("head -c 1M /dev/zero 2>/dev/null >" + filler).c_str()), -1);
  stack_.start_corrald();
  must(stack_.client().start_run("full", {"sh", "-c", "exit 3"}, path_only()));
  must(stack_.client().wait_run("full"));
  EXPECT_EQ(value<int32_t>(must(stack_.client().get_report("full")), "DriverStatus"), 3);
  EXPECT_NE(stack_.log().find("No space left on device"), std::string::npos);

  std::filesystem::remove(filler);
  must(stack_.client().start_run("next", {"true"}, path_only()));
  must(stack_.client().wait_run("next"));
  stack_.restart_corrald();
  EXPECT_EQ(value<int32_t>(must(stack_.client().get_report("full")), "DriverStatus"), 3);
  ASSERT_EQ(std::system(("umount -l " + ended).c_str()), 0);  // the service holds it open
}

TEST_F(ServiceBadInput, VariablesThatAreOursAreReplacedNotDoubled) {
  const auto file = stack_.temp() / "environment";
  auto options = with(path_only(), "StandardOutput", std::string("truncate:" + file));
  options["Environment"] = std::vector<std::string>{"PATH=/bin:/usr/bin", "CORRAL_RUN_ID=forged",
                                                    "CORRAL_INVOCATION=forged"};
  must(stack_.client().start_run("r", {"env"}, options));
  ASSERT_TRUE(stack_.client().wait_state("r", "ended"));
  const auto environment = must(base::read_at(AT_FDCWD, file));
  EXPECT_EQ(environment.find("forged"), std::string::npos) << environment;
  EXPECT_NE(environment.find("CORRAL_RUN_ID=r\n"), std::string::npos) << environment;
}

TEST_F(ServiceBadInput, ANumberThatNoProcessHasIsNotTheCallersOwn) {
  const auto answer = stack_.client().get_run_by_pid(UINT32_MAX);
  EXPECT_EQ(error_of(answer), "org.freedesktop.DBus.Error.UnixProcessIdUnknown");
  EXPECT_NE(answer.error().message.find("no such process"), std::string::npos);
}

// The service with a wrapper, or with a root that it cannot use: it comes up, says why, and starts
// nothing.
class ServiceWithoutContainment : public Test {
 protected:
  std::string refusal(const std::vector<std::string>& wrapper, const std::string& root = "") {
    harness::Stack stack({.start = false});
    stack.options().corrald_wrapper = wrapper;
    if (!root.empty()) stack.options().corrald_arguments = {"--cgroup-root=" + root};
    stack.start_bus();
    stack.start_spawner();
    stack.start_corrald();
    const auto answer = stack.client().start_run("r", {"true"}, path_only());
    EXPECT_EQ(error_of(answer), ours("ContainmentUnavailable"));
    EXPECT_NE(stack.log().find("no run can start"), std::string::npos) << stack.log();
    return answer ? "" : answer.error().message;
  }
  // In a mount namespace of its own.
  static std::vector<std::string> with_mounts(const std::string& change) {
    return {"unshare", "--mount", "sh", "-ec", change + "; exec \"$0\" \"$@\""};
  }
  const std::string mount_ = must(cgroup::find_mount()).path;
};

TEST_F(ServiceWithoutContainment, ARootThatIsNoCgroupIsNamedWithTheRemedy) {
  EXPECT_THAT(refusal({}, "/proc"), testing::HasSubstr("--cgroup-root"));
  EXPECT_THAT(refusal({}, "/no/such/directory"), testing::HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal({}, "/corral-test-is-not-made"), testing::HasSubstr("cgroup2"));
  EXPECT_FALSE(std::filesystem::exists("/corral-test-is-not-made"));
}

TEST_F(ServiceWithoutContainment, ARootThatAnotherServiceHasIsRefused) {
  const harness::Stack first;
  EXPECT_THAT(refusal({}, first.root()), testing::HasSubstr("another corrald has it"));
}

TEST_F(ServiceWithoutContainment, AMachineWithoutCgroup2SaysSo) {
  EXPECT_THAT(refusal(with_mounts("umount -l " + mount_)), testing::HasSubstr("cgroup2"));
}

TEST_F(ServiceWithoutContainment, AReadOnlyCgroupIsNamedWithTheRemedy) {
  const auto message = refusal(with_mounts("mount --bind " + mount_ + " " + mount_ +
                                           "; mount -o remount,bind,ro " + mount_));
  EXPECT_THAT(message, testing::HasSubstr("Read-only file system"));
  EXPECT_THAT(message, testing::HasSubstr("delegated"));
}

TEST_F(ServiceWithoutContainment, ACgroupOfAnotherUserIsNamedWithTheRemedy) {
  const auto root = mount_ + "/corral-not-delegated-" + std::to_string(getpid());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setresuid(65534, 65534, 65534) < 0) _exit(2);
    const auto opened = daemon::Root::open(root);
    const bool clear = !opened && opened.error().code == EACCES &&
                       opened.error().message.find("Delegate=yes") != std::string::npos;
    _exit(clear ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace corral
