#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/unique_fd.h"
#include "cgroup/control.h"
#include "cgroup/processes.h"
#include "harness/child.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/scratch_group.h"
#include "harness/stack.h"
#include "harness/temp_dir.h"

namespace corral::harness {
namespace {

TEST(Eventually, IsFalseAtTheDeadline) {
  EXPECT_FALSE(eventually(std::chrono::milliseconds{5}, [] { return false; }));
  int asked = 0;
  EXPECT_TRUE(eventually([&] { return ++asked == 3; }));
}

TEST(Child, ReportsItsStatusAndTheDeadline) {
  Child quick(Command{.argv = {"sh", "-c", "exit 7"}});
  EXPECT_EQ(WEXITSTATUS(quick.wait(kDeadline).value()), 7);
  Child missing(Command{.argv = {"/no/such/program"}});
  EXPECT_EQ(WEXITSTATUS(missing.wait(kDeadline).value()), 127);
  Child slow(Command{.argv = {"sleep", "60"}});
  EXPECT_EQ(slow.wait(std::chrono::milliseconds{1}), std::nullopt);
  slow.kill();
  EXPECT_EQ(WTERMSIG(slow.wait(kDeadline).value()), SIGKILL);
}

TEST(Child, HasTheEnvironmentAndTheLogThatItWasGiven) {
  const TempDir temp;
  Child child(Command{.argv = {"sh", "-c", "echo $GIVEN $HOME >&2"},
                      .environment = {"GIVEN=yes", "HOME=/nowhere"},
                      .log = temp / "log"});
  ASSERT_EQ(child.wait(kDeadline), 0);
  std::string line;
  std::getline(std::ifstream(temp / "log") >> std::ws, line);
  EXPECT_EQ(line, "yes /nowhere");
}

TEST(ScratchGroup, KillsAndRemovesWhatIsLeftInIt) {
  std::string path;
  std::optional<Child> child;
  {
    const ScratchGroup scratch;
    path = scratch.path();
    (void)scratch.make("a");
    const auto inner = scratch.make("a/b");
    child.emplace(Command{.argv = {"sleep", "60"}, .group = inner.fd()});
    ASSERT_TRUE(must(cgroup::wait_populated(inner, true, kDeadline)));
    EXPECT_EQ(directories_below(path), (std::vector<std::string>{"a", "a/b"}));
  }
  EXPECT_EQ(WTERMSIG(child->wait(kDeadline).value()), SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ScratchGroup, IsRemovedWhenTheTestIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  const UniqueFd write_end(ends[1]);
  const pid_t test = fork();
  if (test == 0) {
    const ScratchGroup scratch;
    const Child child(Command{.argv = {"sleep", "60"}, .group = scratch.make("a").fd()});
    if (write(ends[1], scratch.path().data(), scratch.path().size()) < 0) _exit(1);
    for (;;) pause();
  }
  char path[256] = {};
  ASSERT_GT(read(read_end.get(), path, sizeof path - 1), 0);
  ASSERT_TRUE(std::filesystem::exists(path));
  ASSERT_EQ(kill(test, SIGKILL), 0);
  ASSERT_EQ(waitpid(test, nullptr, 0), test);
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(path); }));
}

TEST(Stack, HasABusThatComesBackUnderTheSameAddress) {
  Stack stack(StackOptions{.start = false});
  stack.allow_leftovers();
  for (int round = 0; round < 2; ++round) {
    stack.start_bus();
    EXPECT_EQ(error_of(stack.client().get_run("nobody")),
              "org.freedesktop.DBus.Error.ServiceUnknown");
    stack.kill_bus();
  }
  EXPECT_ANY_THROW(stack.client());
}

}  // namespace
}  // namespace corral::harness
