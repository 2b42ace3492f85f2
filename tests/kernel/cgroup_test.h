#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "cgroup/clone.h"
#include "cgroup/control.h"
#include "cgroup/janitor.h"
#include "cgroup/mount.h"

namespace corral::cgroup {

// Far more than anything here takes: only a bug gets there.
inline constexpr std::chrono::seconds kDeadline{10};

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

// How a child says that it is where the test wants it: the far end is inherited by all it forks.
class Signpost {
 public:
  Signpost() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) throw std::runtime_error("pipe");
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
  }
  // In the child.
  void reached() const { (void)!write(write_.get(), "x", 1); }
  // In the test; false at the deadline. Once for each reached().
  bool wait() const {
    char byte = 0;
    pollfd ready{.fd = read_.get(), .events = POLLIN, .revents = 0};
    return poll(&ready, 1, std::chrono::milliseconds(kDeadline).count()) == 1 &&
           read(read_.get(), &byte, 1) == 1;
  }

 private:
  UniqueFd read_, write_;
};

// A child of the test in a cgroup: killed and reaped at the end, if not before.
class Child {
 public:
  Child(const Group& group, const std::function<int()>& body)
      : pidfd_(must(clone_into(group, body))) {}
  Child(Child&&) = default;
  Child& operator=(Child&&) = delete;
  ~Child() {
    if (!pidfd_.fd() || reaped_) return;
    (void)pidfd_.signal(SIGKILL);  // may be gone already
    (void)wait();
  }

  pid_t pid() const { return pidfd_.pid(); }
  const Pidfd& pidfd() const { return pidfd_; }
  // Its exit status, or minus the signal that ended it. Waits for the end.
  int wait() {
    siginfo_t info{};
    while (waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.fd()), &info,
                  WEXITED | __WALL) < 0)
      if (errno != EINTR) throw std::runtime_error("waitid");
    reaped_ = true;
    return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
  }

 private:
  Pidfd pidfd_;
  bool reaped_ = false;
};

// What a child does that only waits to be ended; it does not outlive a broken test for long.
inline int linger() {
  alarm(60);
  for (;;) pause();
}

// A cgroup of the test's own below the one that the test runs in. What is left in it at the end is
// killed, and it is removed with all below it. No test may leave an fd open.
class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    fds_ = open_fds();
    const auto mount = find_mount();
    if (!mount) GTEST_SKIP() << mount.error().message;
    const std::string own = must(path_of(0));
    path_ = mount->path + (own == "/" ? "" : own) + "/corral-kernel-" + std::to_string(getpid());
    auto group = Group::create(AT_FDCWD, path_);
    if (!group) GTEST_SKIP() << group.error().message << ": needs a writable cgroup2";
    group_.emplace(std::move(*group));
  }

  void TearDown() override {
    if (group_) {
      EXPECT_TRUE(thaw_tree(*group_));
      EXPECT_TRUE(cgroup::kill(*group_));
      EXPECT_TRUE(kill_by_walk(*group_));
      EXPECT_TRUE(wait_populated(*group_, false, kDeadline).value_or(false));
      const uint64_t id = group_->id();
      group_.reset();
      EXPECT_TRUE(eventually([&] {
        return remove_tree(AT_FDCWD, path_, id).value_or(Removed::busy) != Removed::busy;
      }));
    }
    EXPECT_EQ(open_fds(), fds_) << "open file descriptors";
  }

  const Group& group() const { return *group_; }
  const std::string& path() const { return path_; }
  Group make(const std::string& name) const { return must(Group::create(group().fd(), name)); }
  // A chain of `depth` groups, each in the one before, all named "d". The last one.
  Group make_chain(int depth) const {
    Group last = make("d");
    for (int i = 1; i < depth; ++i) last = must(Group::create(last.fd(), "d"));
    return last;
  }

  static bool populated(const Group& group) { return must(group.events()).populated; }
  // For what the kernel gives no event for: EBUSY of rmdir(2), the letter in /proc.
  static bool eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + kDeadline;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      (void)poll(nullptr, 0, 1);
    }
    return true;
  }

 private:
  static long open_fds() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  }

  std::string path_;
  std::optional<Group> group_;
  long fds_ = 0;
};

}  // namespace corral::cgroup
