#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "cgroup/usage.h"
#include "cgroup/walk.h"
#include "cgroup_test.h"

namespace corral::cgroup {
namespace {

using GroupTest = CgroupTest;
using WalkTest = CgroupTest;

// A directory outside of cgroup2; what is left in it at the end fails the test.
class Scratch {
 public:
  Scratch() : path_(std::filesystem::temp_directory_path() / "corral-kernel-XXXXXX") {
    if (!mkdtemp(path_.data())) throw std::runtime_error("mkdtemp " + path_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { EXPECT_EQ(rmdir(path_.c_str()), 0) << path_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <typename T>
int code_of(const Result<T>& result) {
  return result ? 0 : result.error().code;
}

TEST_F(GroupTest, ANewGroupIsThereEmptyAndOurs) {
  const Group a = make("a");
  EXPECT_FALSE(populated(a));
  EXPECT_FALSE(must(a.events()).frozen);
  EXPECT_EQ(a.owner(), getuid());
  EXPECT_THAT(must(group().children()), testing::ElementsAre("a"));
  EXPECT_EQ(must(Group::open(group().fd(), "a")).id(), a.id());
}

TEST_F(GroupTest, AGroupIsNeverMadeTwice) {
  const Group a = make("a");
  EXPECT_EQ(code_of(Group::create(group().fd(), "a")), EEXIST);
}

TEST_F(GroupTest, ARecreatedPathIsAnotherGroupAndTheOldOneStaysGone) {
  const Group old = make("a");
  ASSERT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
  const Group fresh = make("a");
  EXPECT_NE(fresh.id(), old.id());
  const auto events = old.events();
  ASSERT_FALSE(events);
  EXPECT_TRUE(is_gone(events.error()));
  EXPECT_THAT(must(old.children()), testing::IsEmpty());
  EXPECT_THAT(must(pids_of(old)), testing::IsEmpty());
  EXPECT_EQ(code_of(path_of(old)), ENOENT);
}

TEST_F(GroupTest, WhatIsNoCgroupIsRefused) {
  EXPECT_EQ(code_of(Group::open(AT_FDCWD, "/proc")), EMEDIUMTYPE);
  EXPECT_EQ(code_of(Group::open(group().fd(), "cgroup.procs")), ENOTDIR);
  EXPECT_EQ(code_of(Group::open(group().fd(), "absent")), ENOENT);
}

TEST_F(GroupTest, CreatingOutsideACgroupFileSystemLeavesNoDirectory) {
  const Scratch scratch;
  EXPECT_EQ(code_of(Group::create(AT_FDCWD, scratch.path() + "/a")), EMEDIUMTYPE);
}

TEST_F(GroupTest, ASymbolicLinkToACgroupIsRefused) {
  const Scratch scratch;
  const std::string link = scratch.path() + "/link";
  std::filesystem::create_directory_symlink(path(), link);
  EXPECT_EQ(code_of(Group::open(AT_FDCWD, link)), ENOTDIR);
  unlink(link.c_str());
}

TEST_F(GroupTest, ChildrenAreReadAnewByEveryCall) {
  const Group b = make("b");
  const Group a = make("a");
  EXPECT_THAT(must(group().children()), testing::ElementsAre("a", "b"));
  EXPECT_THAT(must(group().children()), testing::ElementsAre("a", "b"));
}

TEST_F(GroupTest, AChildIsBornInTheGroupAndItsStatusIsItsOwn) {
  Child child(group(),
              [] { return must(path_of(0)).ends_with(std::to_string(getppid())) ? 7 : 8; });
  EXPECT_EQ(child.wait(), 7);
  EXPECT_TRUE(child.pidfd().exited());
}

TEST_F(GroupTest, TheGroupAndItsProcessesHaveTheSamePath) {
  const Group a = make("a b\\c");  // what mountinfo and links might write otherwise
  Child child(a, linger);
  EXPECT_EQ(must(path_of(a)), must(path_of(child.pid())));
  EXPECT_EQ(must(path_of(group())) + "/a b\\c", must(path_of(a)));
}

// In namespaces whose root is the caller's own group: 0, or the step that went wrong.
int look_from_inside(const Group& seen_from_outside, pid_t stranger, const std::string& where) {
  if (unshare(CLONE_NEWCGROUP) < 0) return 1;
  if (code_of(path_of(seen_from_outside)) != ENODEV) return 2;
  if (unshare(CLONE_NEWNS) < 0) return 1;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return 3;
  if (mount("cgroup2", where.c_str(), "cgroup2", 0, nullptr) < 0) return 4;
  const Group own = must(Group::open(AT_FDCWD, where));
  const Group below = must(Group::create(own.fd(), "below"));
  if (must(path_of(own)) != "/" || must(path_of(0)) != "/") return 5;
  if (must(path_of(below)) != "/below") return 6;
  if (!must(signal_member(own, getpid(), 0))) return 7;
  if (must(signal_member(below, getpid(), 0))) return 8;
  return must(signal_member(own, stranger, 0)) ? 9 : 0;
}

TEST_F(GroupTest, ThePathsAgreeInACgroupNamespaceOrTheyAreAnError) {
  const Group a = make("a"), b = make("b");
  Child stranger(b, linger);
  const Scratch scratch;
  Child child(a, [&] { return look_from_inside(a, stranger.pid(), scratch.path()); });
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(GroupTest, AProcessThatIsGoneHasNoPath) {
  Child child(group(), [] { return 0; });
  const pid_t pid = child.pid();
  child.wait();
  EXPECT_EQ(code_of(path_of(pid)), ESRCH);
  EXPECT_EQ(code_of(Pidfd::open(pid)), ESRCH);
  EXPECT_EQ(code_of(child.pidfd().signal(SIGTERM)), ESRCH);
}

TEST_F(GroupTest, APidIsHeldOnlyWithItsStartTime) {
  Child child(group(), linger);
  const auto started = start_time(child.pid());
  ASSERT_TRUE(started);
  EXPECT_TRUE(Pidfd::open(child.pid(), *started));
  EXPECT_EQ(code_of(Pidfd::open(child.pid(), *started + 1)), ESRCH);
  EXPECT_FALSE(child.pidfd().exited());
}

TEST_F(GroupTest, AZombieHasExited) {
  Child child(group(), [] { return 0; });
  EXPECT_TRUE(eventually([&] { return child.pidfd().exited(); }));
  EXPECT_TRUE(start_time(child.pid())) << "it was reaped";
}

TEST_F(GroupTest, CpuTimeIsCountedWithoutAController) {
  Child child(group(), [] {
    for (const auto end = clock() + CLOCKS_PER_SEC / 50; clock() < end;) {
    }
    return 0;
  });
  child.wait();
  EXPECT_GE(read_usage(group()).cpu_usec.value_or(0), 10'000U);
}

TEST_F(WalkTest, ParentsComeBeforeAndLeaveAfterWhatIsBelow) {
  const Group a = make("a"), b = make("b");
  const Group inner = must(Group::create(a.fd(), "x"));
  std::vector<std::string> seen;
  must(each_group(
      group(),
      [&](const Group&, const std::string& sub) {
        seen.push_back(sub);
        return Result<void>{};
      },
      [&](const Group&, const std::string& name) {
        seen.push_back("-" + name);
        return Result<void>{};
      }));
  EXPECT_THAT(seen, testing::ElementsAre("", "a", "a/x", "-x", "-a", "b", "-b"));
}

TEST_F(WalkTest, ADeepTreeIsWalkedWithAFewFds) {
  const Group last = make_chain(200);
  int visits = 0;
  uint64_t deepest = 0;
  long most = 0;
  const auto fds = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const long before = fds();
  must(each_group(group(), [&](const Group& sub, const std::string&) {
    ++visits;
    deepest = sub.id();
    most = std::max(most, fds() - before);
    return Result<void>{};
  }));
  EXPECT_EQ(visits, 201);
  EXPECT_EQ(deepest, last.id());
  EXPECT_LE(most, 4);
}

TEST_F(WalkTest, WhatIsRemovedUnderTheWalkIsPassedOver) {
  const Group a = make("a");
  const Group inner = must(Group::create(a.fd(), "x")), b = make("b");
  std::vector<std::string> seen;
  must(each_group(group(), [&](const Group&, const std::string& sub) {
    seen.push_back(sub);
    if (sub == "a/x") {
      EXPECT_EQ(unlinkat(a.fd(), "x", AT_REMOVEDIR), 0);
      EXPECT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
    }
    return Result<void>{};
  }));
  EXPECT_THAT(seen, testing::ElementsAre("", "a", "a/x", "b"));
}

TEST_F(WalkTest, AnErrorOfTheVisitorEndsTheWalk) {
  const Group a = make("a");
  int visits = 0;
  const auto walked = each_group(group(), [&](const Group&, const std::string&) -> Result<void> {
    ++visits;
    return failed(EIO, "look");
  });
  EXPECT_EQ(code_of(walked), EIO);
  EXPECT_EQ(visits, 1);
}

// In a mount namespace of its own: exits with the number of groups seen, or 100 and more.
int walk_a_tree_with_a_mount(const std::string& path) {
  if (unshare(CLONE_NEWNS) < 0) return 100;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0) return 101;
  const std::string root = must(find_mount()).path;
  if (mount(root.c_str(), (path + "/a").c_str(), nullptr, MS_BIND, nullptr) < 0) return 102;
  const Group top = must(Group::open(AT_FDCWD, path));  // in this namespace, where the mount is
  int seen = 0;
  const auto walked = each_group(top, [&](const Group&, const std::string&) {
    ++seen;
    return Result<void>{};
  });
  return code_of(walked) == EXDEV ? seen : 103;
}

TEST_F(WalkTest, AMountOnAGroupIsNoWayOutOfTheTreeAndHidesNoSibling) {
  const Group a = make("a"), b = make("b");
  Child child(group(), [&] { return walk_a_tree_with_a_mount(path()); });
  EXPECT_EQ(child.wait(), 2);
}

// No fd can be opened for as long as it lives.
class NoMoreFds {
 public:
  NoMoreFds() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd next(open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next.get());
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFds() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST_F(GroupTest, WithoutAFreeFdEverythingIsAnErrorAndNothingACrash) {
  Child child(group(), linger);
  const std::string where = path();
  const NoMoreFds none;
  EXPECT_EQ(code_of(Group::open(AT_FDCWD, where)), EMFILE);
  EXPECT_EQ(code_of(group().events()), EMFILE);
  EXPECT_EQ(code_of(group().children()), EMFILE);
  EXPECT_EQ(code_of(pids_of(group())), EMFILE);
  EXPECT_EQ(code_of(path_of(0)), EMFILE);
  EXPECT_EQ(code_of(path_of(group())), EMFILE);
  EXPECT_EQ(code_of(find_mount()), EMFILE);
  EXPECT_EQ(code_of(Pidfd::open(child.pid())), EMFILE);
  EXPECT_EQ(code_of(cgroup::kill(group())), EMFILE);
  EXPECT_EQ(code_of(kill_by_walk(group())), EMFILE);
  EXPECT_EQ(code_of(signal_all(group(), SIGTERM)), EMFILE);
  EXPECT_EQ(code_of(signal_member(group(), child.pid(), SIGTERM)), EMFILE);
  EXPECT_EQ(code_of(set_frozen(group(), true)), EMFILE);
  EXPECT_EQ(code_of(thaw_tree(group())), EMFILE);
  EXPECT_EQ(code_of(Freeze::begin(group())), EMFILE);
  EXPECT_EQ(code_of(wait_populated(group(), false, kDeadline)), EMFILE);
  EXPECT_EQ(code_of(clone_into(group(), [] { return 0; })), EMFILE);
  EXPECT_EQ(code_of(remove_tree(AT_FDCWD, where, group().id())), EMFILE);
  EXPECT_FALSE(read_usage(group()).cpu_usec);
}

}  // namespace
}  // namespace corral::cgroup
