#include <sched.h>
#include <sys/mount.h>
#include <sys/ptrace.h>

#include "kinship_test.h"

namespace corral::cgroup {
namespace {

std::vector<pid_t> numbers(const std::vector<Kin>& kin) {
  std::vector<pid_t> pids;
  for (const Kin& one : kin) pids.push_back(one.pid);
  return pids;
}

TEST_F(KinshipTest, APassSaysWhatTheKernelSays) {
  start(linger);
  const Kinship kinship = pass();
  const Kin* kin = kinship.find(driver());
  ASSERT_NE(kin, nullptr);
  EXPECT_EQ(kin->ppid, supervisor().pid());
  EXPECT_EQ(kin->start_time, start_time(driver()));
  EXPECT_EQ(kin->uid, 0U);
  EXPECT_EQ(kin->control_group, must(path_of(at("work"))));
  EXPECT_NE(kinship.find(getpid()), nullptr);
}

TEST_F(KinshipTest, TheUidIsTheEffectiveOneOfOneThatMayNotBeDumpedToo) {
  start([&] {
    if (setresuid(0, 65534, 0) != 0) return 1;
    pids().tell();
    return linger();
  });
  ASSERT_EQ(pids().next(), driver());
  EXPECT_EQ(pass().find(driver())->uid, 65534U);
}

TEST_F(KinshipTest, ItComesInSlices) {
  start(linger);
  Kinship kinship = must(Kinship::open());
  EXPECT_FALSE(kinship.step(1));
  EXPECT_EQ(kinship.pids().size(), 1U);
  EXPECT_FALSE(kinship.step(1));
  EXPECT_EQ(kinship.pids().size(), 2U);
  EXPECT_TRUE(kinship.step(SIZE_MAX));
  const size_t all = kinship.pids().size();
  EXPECT_TRUE(kinship.step(1)) << "done is done";
  EXPECT_EQ(kinship.pids().size(), all);
  EXPECT_NE(kinship.find(driver()), nullptr);
}

TEST_F(KinshipTest, ThoseThatGoMeanwhileAreLeftOut) {
  constexpr int kEach = 20;
  std::vector<Child> stay, go;
  stay.reserve(kEach);
  go.reserve(kEach);
  for (int i = 0; i < kEach; ++i) {
    stay.emplace_back(at("outside"), linger);
    go.emplace_back(at("outside"), linger);
  }
  Kinship kinship = must(Kinship::open());
  ASSERT_FALSE(kinship.step(1)) << "and the kernel has told of some more";
  for (Child& child : go) {
    must(child.pidfd().signal(SIGKILL));
    (void)child.wait();
  }
  ASSERT_TRUE(kinship.step(SIZE_MAX));
  for (const Child& child : stay) EXPECT_NE(kinship.find(child.pid()), nullptr);
  for (const Child& child : go) EXPECT_EQ(kinship.find(child.pid()), nullptr);
}

TEST_F(KinshipTest, AParentThatGoesMeanwhileIsFollowedByTheSubreaper) {
  start([&] {
    if (fork() == 0) {
      pids().tell();
      if (fork() == 0) pids().tell();
    }
    return linger();
  });
  const pid_t middle = pids().next(), last = pids().next();
  Kinship kinship = must(Kinship::open());
  ASSERT_EQ(kinship.find_or_read(last)->ppid, middle);
  const Pidfd held = must(Pidfd::open(middle));
  must(held.signal(SIGKILL));
  ASSERT_TRUE(eventually([&] { return held.exited(); }));
  ASSERT_TRUE(eventually([&] { return read_ppid(last) == supervisor().pid(); }));
  const Kin* above = kinship.parent(last);
  ASSERT_NE(above, nullptr);
  EXPECT_EQ(above->pid, supervisor().pid()) << "though the middle one is still there, a zombie";
}

TEST_F(KinshipTest, DescendantsAreAClosureThatCanBeOpened) {
  start([&] {
    for (int depth = 0; depth < 5 && fork() == 0; ++depth) pids().tell();
    return linger();
  });
  std::vector<pid_t> expected;
  for (int i = 0; i < 5; ++i) expected.push_back(pids().next());
  Kinship kinship = pass();
  const auto found = kinship.descendants(driver());
  EXPECT_EQ(numbers(found), expected) << "parents first";
  for (const Kin& kin : found) EXPECT_TRUE(Pidfd::open(kin.pid, kin.start_time));
  EXPECT_TRUE(kinship.descendants(expected.back()).empty());
  EXPECT_TRUE(kinship.descendants(-1).empty());
}

TEST_F(KinshipTest, AncestorsGoUpToTheTop) {
  start(linger);
  const auto found = numbers(pass().ancestors(driver()));
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[0], supervisor().pid());
  EXPECT_EQ(found[1], getpid());
}

TEST_F(KinshipTest, AProcWithoutProcessesIsAnError) {
  Child reader(at("outside"), [] {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", "/proc", "tmpfs", 0, "") != 0)
      return 77;
    return Kinship::open() ? 1 : 0;
  });
  const int status = reader.wait();
  if (status == 77) GTEST_SKIP() << "needs the right to mount";
  EXPECT_EQ(status, 0);
}

class ForeignTest : public KinshipTest {
 protected:
  // Not of the run, moved into work/ once it is there.
  pid_t move_in() {
    const pid_t stranger = start_outside({});
    must(base::write_at(at("work").fd(), "cgroup.procs", std::to_string(stranger)));
    return stranger;
  }
};

TEST_F(ForeignTest, OneThatWasMovedInIsForeign) {
  start(linger);
  EXPECT_EQ(foreign(ties(), move_in()), true);
  EXPECT_EQ(foreign(ties(), driver()), false);
}

TEST_F(ForeignTest, ADoubleForkedDescendantWithAnEmptyEnvironmentIsNot) {
  start([&] {
    if (fork() == 0) {
      if (setsid() < 0) return 1;
      return fork() == 0 ? execute_with(pids(), {}) : 0;
    }
    return linger();
  });
  const pid_t orphan = pids().next();
  EXPECT_EQ(foreign(ties(), orphan), false);
  ASSERT_TRUE(eventually([&] { return read_ppid(orphan) == supervisor().pid(); }));
  EXPECT_EQ(foreign(ties(), orphan), false);
}

TEST_F(ForeignTest, WithoutASubreaperNobodyCanTell) {
  start(linger, false);
  EXPECT_EQ(foreign(ties(false), move_in()), std::nullopt);
}

TEST_F(ForeignTest, OneThatWentIsNotAccused) {
  start(linger);
  Child gone(at("outside"), [] { return 0; });
  Kinship kinship = must(Kinship::open());
  (void)kinship.find_or_read(gone.pid());
  EXPECT_EQ(gone.wait(), 0);
  EXPECT_EQ(is_foreign(kinship, ties(), gone.pid()), std::nullopt);
  EXPECT_EQ(foreign(ties(), gone.pid()), std::nullopt);
}

TEST_F(ForeignTest, OneUnderASparedProcessIsForeign) {
  start(linger);
  Ties known = ties();
  const pid_t stranger = move_in();
  known.supervisor = name_of(getpid());
  EXPECT_EQ(foreign(known, stranger), false) << "a child of the supervisor's";
  known.spared = {supervisor().pid()};
  known.driver = {};
  EXPECT_EQ(foreign(known, driver()), true);
}

TEST_F(ForeignTest, ATracerIsNoParent) {
  start(linger);
  const pid_t stranger = move_in();
  Child tracer(at("work"), [&] {
    if (ptrace(PTRACE_SEIZE, stranger, 0, 0) != 0) return 1;
    pids().tell();
    return linger();
  });
  ASSERT_EQ(pids().next(), tracer.pid());
  Ties known = ties();
  known.driver = name_of(tracer.pid());
  EXPECT_EQ(foreign(known, stranger), true);
}

TEST_F(ForeignTest, AnotherPidNamespaceHasAReaperOfItsOwn) {
  start([&] {
    if (unshare(CLONE_NEWPID) != 0) return 1;
    if (fork() == 0) {  // pid 1 of it
      if (fork() == 0) return fork() == 0 ? linger() : 0;
      return linger();
    }
    return linger();
  });
  ASSERT_TRUE(eventually([&] { return must(count(at("work"))) == 3; }));
  for (const Member& member : must(members(at("work"))))
    EXPECT_EQ(foreign(ties(), member.pid), false) << member.pid;
  start_orphan([&] {
    if (unshare(CLONE_NEWPID) != 0) return 1;
    if (fork() == 0) {
      if (!move_to(at("work"))) return 1;
    }
    return linger();
  });
  ASSERT_TRUE(eventually([&] { return must(count(at("work"))) == 4; }));
  size_t unknown = 0;
  for (const Member& member : must(members(at("work"))))
    unknown += foreign(ties(), member.pid) ? 0U : 1U;
  EXPECT_EQ(unknown, 1U);
}

}  // namespace
}  // namespace corral::cgroup
