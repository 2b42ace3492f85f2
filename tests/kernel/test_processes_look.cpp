#include <sys/prctl.h>

#include "base/clock.h"
#include "cgroup/proc_stat.h"
#include "processes_test.h"

namespace corral::cgroup {
namespace {

using run::Detached;
using LookTest = ProcessesTest;

// A child of the test that is its driver, seen by a supervisor that is the test.
Lineage lineage_of(pid_t driver) {
  return {
      .driver = driver, .driver_sid = getsid(0), .driver_pgid = getpgrp(), .supervisor = getpid()};
}

TEST_F(LookTest, IdentityAndParentageAreThoseOfTheKernel) {
  const Group below = make("below");
  const Child child(below, linger);
  const auto seen = look_at(group());
  ASSERT_EQ(seen.count(child.pid()), 1U);
  const run::Process& process = seen.at(child.pid());
  EXPECT_EQ(process.start_time, start_time(child.pid()));
  EXPECT_EQ(process.ppid, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(process.pgid, static_cast<uint32_t>(getpgrp()));
  EXPECT_EQ(process.sid, static_cast<uint32_t>(getsid(0)));
  EXPECT_EQ(process.control_group, "/top/below");
  EXPECT_EQ(process.comm, read_stat(getpid())->comm);
  EXPECT_GT(process.rss.value_or(0), 0U);
  EXPECT_TRUE(process.cpu_usec.has_value());
  EXPECT_TRUE(process.exe.empty()) << "the dear half is describe()'s";
}

TEST_F(LookTest, ItsStartIsAPointInTimeBetweenThoseAroundIt) {
  constexpr uint64_t kTick = 10'000;
  const uint64_t before = base::Moment::now().realtime_usec;
  const Child child(group(), linger);
  const uint64_t after = base::Moment::now().realtime_usec;
  const run::Process process = look_at(group()).at(child.pid());
  EXPECT_GE(process.start_timestamp + kTick + 1'000, before);  // two clocks are read one by one
  EXPECT_LE(process.start_timestamp, after + 1'000);
  EXPECT_LE(process.age_usec.value_or(UINT64_MAX),
            base::Moment::now().realtime_usec - before + kTick + 1'000);
}

TEST_F(LookTest, ADirectoryOfTheHierarchysTopIsJoinedWithOneSlash) {
  const Child child(make("below"), linger);
  const auto found = look(must(members(group())), "/", {});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].control_group, "/below");
}

TEST_F(LookTest, TheDriverItselfIsNotDetached) {
  const Child driver(group(), linger);
  EXPECT_EQ(look_at(group(), lineage_of(driver.pid())).at(driver.pid()).detached, Detached::no);
}

TEST_F(LookTest, AnOwnSessionIsSeen) {
  const Misbehaving driver(group(), {"--stay", "setsid", "1"});
  for (const auto& [pid, process] : look_at(group(), lineage_of(driver.pid())))
    EXPECT_EQ(process.detached, pid == driver.pid() ? Detached::no : Detached::own_session);
}

// The driver of a test in a container started from outside has session and group 0.
TEST_F(LookTest, WhatWasStartedFromOutsideOfThePidNamespaceHasASessionToo) {
  const Signpost there;
  const Child child(group(), [&] {
    if (setsid() > 0) there.reached();
    return linger();
  });
  ASSERT_TRUE(there.wait());
  const auto detached = [&](const Lineage& lineage) {
    return look_at(group(), lineage).at(child.pid()).detached;
  };
  EXPECT_EQ(detached({.driver_sid = 0}), Detached::own_session);
  EXPECT_EQ(detached({.driver_pgid = 0}), Detached::own_group);
}

TEST_F(LookTest, AnOwnGroupIsSeen) {
  const Signpost there;
  const Child child(group(), [&] {
    if (setpgid(0, 0) == 0) there.reached();
    return linger();
  });
  ASSERT_TRUE(there.wait());
  EXPECT_EQ(look_at(group(), lineage_of(1)).at(child.pid()).detached, Detached::own_group);
}

TEST_F(LookTest, AnOrphanIsSeen) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  Misbehaving driver(group(), {"double-fork"});
  EXPECT_EQ(driver.wait(), 0);
  const auto seen = look_at(group(), lineage_of(driver.pid()));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen.begin()->second.detached, Detached::orphaned);
  must(cgroup::kill(group()));
  EXPECT_EQ(waitpid(seen.begin()->first, nullptr, 0), seen.begin()->first);
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

TEST_F(LookTest, WhereTheLineageIsUnknownNothingIsSaidByIt) {
  Misbehaving driver(group(), {"scrub"});
  EXPECT_EQ(driver.wait(), 0);
  for (const auto& [pid, process] : look_at(group(), Lineage{}))
    EXPECT_EQ(process.detached, Detached::no);
}

TEST_F(LookTest, ACommThatIsNotUtf8IsEscaped) {
  Misbehaving driver(group(), {"bad-name"});
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(only().comm, "\\xff\\xfe) R 1\\x0a\\x5c");
}

TEST_F(LookTest, OneThatWentMeanwhileIsLeftOut) {
  const Child stays(group(), linger);
  Child reaped(group(), [] { return 0; });
  reaped.wait();
  const Misbehaving parent(group(), {"no-wait", "1"});
  const std::vector<Member> asked = {{stays.pid(), ""}, {reaped.pid(), ""}, {parent.pid(), ""}};
  const auto found = look(asked, "/top", {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].pid, static_cast<uint32_t>(stays.pid()));
}

TEST_F(LookTest, AZombieIsLeftOut) {
  Child zombie(group(), [] { return 0; });
  pollfd exited{.fd = zombie.pidfd().fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&exited, 1, std::chrono::milliseconds(kDeadline).count()), 1);
  const std::vector<Member> asked = {{zombie.pid(), ""}};
  EXPECT_TRUE(look(asked, "/top", {}).empty());
}

TEST_F(LookTest, AProcessWhoseLeaderHasExitedIsSeenThroughAThread) {
  const Misbehaving child(group(), {"dead-leader"});
  const run::Process process = only();
  EXPECT_EQ(process.pid, static_cast<uint32_t>(child.pid()));
  EXPECT_EQ(process.state, "Z");
  EXPECT_EQ(process.comm, "misbehave");
  EXPECT_GT(process.rss.value_or(0), 0U);
  EXPECT_EQ(process.exe, CORRAL_MISBEHAVE);
  EXPECT_EQ(process.argv, (std::vector<std::string>{"misbehave", "dead-leader"}));
}

}  // namespace
}  // namespace corral::cgroup
