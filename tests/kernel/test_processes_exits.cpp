#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup/exit_info.h"
#include "processes_test.h"

namespace corral::cgroup {
namespace {

using ExitTest = ProcessesTest;

constexpr uid_t kNobody = 65534;

// Until it has exited; it stays a zombie, as the test reaps it later.
void await_exit(const Child& child) {
  pollfd exited{.fd = child.pidfd().fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&exited, 1, kReadyDeadline.count()), 1);
}

TEST_F(ExitTest, AZombieTellsItsStatusUntilItIsReaped) {
  for (const int code : {0, 7}) {
    Child child(group(), [code] { return code; });
    await_exit(child);
    const auto status = zombie_status(child.pidfd());
    ASSERT_TRUE(status) << code;
    EXPECT_TRUE(WIFEXITED(*status));
    EXPECT_EQ(WEXITSTATUS(*status), code);
    child.wait();
    EXPECT_FALSE(zombie_status(child.pidfd())) << code;
  }
}

TEST_F(ExitTest, AZombieTellsItsSignal) {
  Child child(group(), linger);
  EXPECT_FALSE(zombie_status(child.pidfd())) << "it lives";
  must(child.pidfd().signal(SIGTERM));
  await_exit(child);
  const auto status = zombie_status(child.pidfd());
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFSIGNALED(*status));
  EXPECT_EQ(WTERMSIG(*status), SIGTERM);
}

TEST_F(ExitTest, NobodyIsToldASuccessThatTheKernelHides) {
  Child zombie(group(), [] { return 0; });
  await_exit(zombie);
  Child stranger(group(), [&] {
    if (setresgid(kNobody, kNobody, kNobody) < 0 || setresuid(kNobody, kNobody, kNobody) < 0)
      return 2;
    return zombie_status(zombie.pidfd()) ? 1 : 0;
  });
  EXPECT_EQ(stranger.wait(), 0);
}

}  // namespace
}  // namespace corral::cgroup
