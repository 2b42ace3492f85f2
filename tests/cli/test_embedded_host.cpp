#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cgroup/control.h"
#include "cgroup/janitor.h"
#include "cgroup/pidfd.h"
#include "cli/arguments.h"
#include "cli/cli_test.h"
#include "cli/embedded_child.h"
#include "cli/embedded_host.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral::cli {
namespace {

using cgroup::Pidfd;
using harness::eventually;
using harness::must;
using testing::HasSubstr;
using testing::Not;

// An embedded run whose driver is up.
class EmbeddedHosted : public CliTest {
 protected:
  // A driver with a helper in a session of its own; it says where the bus is, and marks that it
  // was asked to end.
  Words driver(const std::string& on_term) {
    const std::string script = "trap 'echo >\"$2\"; " + on_term +
                               "' TERM INT; setsid sleep 600 & "
                               "echo \"$CORRAL_BUS_ADDRESS\" >\"$1.new\"; mv \"$1.new\" \"$1\"; "
                               "while :; do sleep 0.05; done";
    return {"/bin/sh", "-c", script, "sh", up(), asked()};
  }
  std::string up() const { return temp() / "up"; }
  std::string asked() const { return temp() / "asked"; }
  bool is_up() const {
    return eventually([&] { return std::filesystem::exists(up()); });
  }
  std::string address() const {
    const std::string text = slurp(up());
    return text.substr(0, text.find('\n'));
  }
};

Pidfd host_of(pid_t corralctl) {
  return must(Pidfd::open(child_named(corralctl, "corral-host")));
}

std::vector<Pidfd> parts_of(const Pidfd& host) {
  std::vector<Pidfd> parts;
  for (const char* name : {"dbus-daemon", "corral-init", "corrald"})
    parts.push_back(must(Pidfd::open(child_named(host.pid(), name))));
  return parts;
}

void expect_gone(const Pidfd& process) {
  EXPECT_TRUE(wait_exit(process.fd(), harness::kDeadline)) << process.pid();
}

TEST_F(EmbeddedHosted, EndsTheRunsAndTakesAllDownWhenCorralctlIsKilled) {
  harness::Child child = start(embedded({}, driver("exit")));
  ASSERT_TRUE(is_up());
  const Pidfd host = host_of(child.pid());
  const auto parts = parts_of(host);
  const Ran other = corralctl({"--bus=" + address(), "run", "--detach", "--", "/bin/sleep", "600"});
  ASSERT_EQ(other.status, 0) << other.err;
  child.kill();
  expect_gone(host);  // within less than the bound past which the runs are killed
  for (const Pidfd& part : parts) EXPECT_TRUE(part.exited());
  EXPECT_TRUE(std::filesystem::exists(asked())) << "killed, not asked";
}

// What corralctl has from the host, without the rest of corralctl: tells at `file` that the run
// is up, and stays.
[[noreturn]] void be_corralctl(const HostOptions& options, const std::string& runtime,
                               const Words& argv) {
  (void)setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
  auto host = EmbeddedHost::start(options);
  if (!host) _exit(1);
  auto service = Service::connect({dbus::BusKind::address, host->address()});
  StartRequest request{.id = "r1",
                       .argv = argv,
                       .owner = {},
                       .token = {},
                       .description = {},
                       .labels = {},
                       .working_directory = "/",
                       .environment = Surroundings::of_process().environment,
                       .input = {},
                       .output = {},
                       .error = {},
                       .settle = {},
                       .grace = std::chrono::minutes{10},
                       .term_signal = {}};
  if (!service || !service->start_run(request)) _exit(1);
  for (;;) pause();
}

TEST_F(EmbeddedHosted, KillsTheRunsThatOutlastTheBoundOnceCorralctlIsKilled) {
  const std::string runtime = temp() / "runtime";
  std::filesystem::create_directories(runtime);
  const HostOptions options{scratch().path(), Surroundings::of_process().environment,
                            std::chrono::milliseconds{300}};
  const pid_t pid = fork();
  if (pid == 0) be_corralctl(options, runtime, driver(":"));
  const Pidfd process = must(Pidfd::open(pid));
  const bool running = is_up();
  std::optional<Pidfd> host;
  if (running) host.emplace(host_of(pid));
  must(process.signal(SIGKILL));
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  ASSERT_TRUE(running);
  expect_gone(*host);
}

TEST_F(EmbeddedHosted, TakesAllDownWhenTheHostIsKilled) {
  harness::Child child = start(embedded({}, driver(":")));
  ASSERT_TRUE(is_up());
  const Pidfd host = host_of(child.pid());
  const auto parts = parts_of(host);
  must(host.signal(SIGKILL));
  const Ran ran = collect(child);
  EXPECT_EQ(ran.status, 125);
  EXPECT_THAT(ran.err, HasSubstr(" has exited"));
  for (const Pidfd& part : parts) EXPECT_TRUE(part.exited());
}

TEST_F(EmbeddedHosted, SparesNoPartWhenHostAndCorralctlAreKilled) {
  harness::Child child = start(embedded({}, driver(":")));
  ASSERT_TRUE(is_up());
  const Pidfd host = host_of(child.pid());
  const auto parts = parts_of(host);
  child.signal(SIGSTOP);  // so that it does not see the host go
  must(host.signal(SIGKILL));
  child.kill();
  for (const Pidfd& part : parts) expect_gone(part);
  // Nobody is left for the run, its cgroup and the directory.
  must(cgroup::kill(scratch().group()));
  ASSERT_TRUE(must(cgroup::wait_populated(scratch().group(), false, harness::kDeadline)));
  for (const auto& entry : std::filesystem::directory_iterator(scratch().path()))
    if (entry.is_directory()) {
      const auto group = must(cgroup::Group::open(AT_FDCWD, entry.path()));
      ASSERT_TRUE(eventually([&] {
        return must(cgroup::remove_tree(scratch().group().fd(), entry.path().filename(),
                                        group.id())) != cgroup::Removed::busy;
      }));
    }
  for (const auto& entry : std::filesystem::directory_iterator(temp() / "runtime"))
    std::filesystem::remove_all(entry.path());
}

TEST_F(EmbeddedHosted, KeepsNothingOfItsCallers) {
  harness::Child child = start(embedded({}, driver("exit 0")));
  ASSERT_TRUE(is_up());
  const Pidfd host = host_of(child.pid());
  EXPECT_EQ(getsid(host.pid()), host.pid());
  const std::string fds = "/proc/" + std::to_string(host.pid()) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(fds)) {
    std::error_code gone;
    EXPECT_THAT(std::filesystem::read_symlink(entry.path(), gone).string(),
                Not(HasSubstr(temp().path())));
  }
  for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1})
    must(host.signal(number));  // it is not for them
  child.signal(SIGTERM);
  EXPECT_EQ(collect(child).status, 0);
}

TEST_F(EmbeddedHosted, StopsWithinAMomentAlthoughADetachedRunLives) {
  harness::Child child = start(embedded({}, driver("exit 3")));
  ASSERT_TRUE(is_up());
  const Words other = {"--bus=" + address(), "run", "--detach", "--", "/bin/sleep", "600"};
  ASSERT_EQ(corralctl(other).status, 0);
  const auto begin = std::chrono::steady_clock::now();
  child.signal(SIGTERM);
  ASSERT_TRUE(child.wait(harness::kDeadline));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, HostOptions::kEndBound / 2);
}

// A process with a terminal of its own.
struct OnTerminal {
  pid_t pid = 0;
  UniqueFd terminal;
};
OnTerminal start_on_terminal(const Words& argv, const std::string& runtime) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    (void)setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  return {pid, UniqueFd(terminal)};
}

TEST_F(EmbeddedHosted, IsTakenDownInOrderOnCtrlC) {
  const std::string runtime = temp() / "runtime";
  std::filesystem::create_directories(runtime);
  const OnTerminal started = start_on_terminal(embedded({}, driver("exit 42")), runtime);
  ASSERT_GT(started.pid, 0);
  const Pidfd process = must(Pidfd::open(started.pid));
  EXPECT_TRUE(is_up());
  const Pidfd host = host_of(started.pid);
  EXPECT_EQ(write(started.terminal.get(), "\x03", 1), 1);
  if (!wait_exit(process.fd(), harness::kDeadline)) must(process.signal(SIGKILL));
  int status = 0;
  ASSERT_EQ(waitpid(started.pid, &status, 0), started.pid);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_TRUE(host.exited());
}

}  // namespace
}  // namespace corral::cli
