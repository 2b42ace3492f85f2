#include "base/file.h"
#include "cgroup/proc_stat.h"
#include "processes_test.h"

namespace corral::cgroup {
namespace {

using MembersTest = ProcessesTest;

std::vector<pid_t> pids_of_members(const Group& group) {
  std::vector<pid_t> pids;
  for (const Member& member : must(members(group))) pids.push_back(member.pid);
  return pids;
}

TEST_F(MembersTest, AnEmptyGroupHasNone) {
  EXPECT_TRUE(must(members(group())).empty());
  EXPECT_EQ(must(count(group())), 0U);
}

TEST_F(MembersTest, AGroupThatIsGoneHasNone) {
  const Group gone = make("gone");
  ASSERT_EQ(must(remove_tree(group().fd(), "gone", gone.id())), Removed::yes);
  EXPECT_TRUE(must(members(gone)).empty());
}

TEST_F(MembersTest, EachIsListedWithTheGroupItSitsInAtAnyDepth) {
  const Misbehaving driver(group(), {"--stay", "nested", "300"});
  const auto found = must(members(group()));
  ASSERT_EQ(found.size(), 2U);
  std::string deepest = "n";
  for (int depth = 1; depth < 300; ++depth) deepest += "/n";
  for (const Member& member : found)
    EXPECT_EQ(member.group, member.pid == driver.pid() ? "" : deepest);
}

TEST_F(MembersTest, TheyAreSortedByPidWhateverTheirGroup) {
  const Group first = make("a"), second = make("b");
  const Child late(second, linger), early(group(), linger), middle(first, linger);
  std::vector<pid_t> expected = {late.pid(), early.pid(), middle.pid()};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(pids_of_members(group()), expected);
}

TEST_F(MembersTest, AProcessWithAThreadInAThreadedGroupIsListedOnce) {
  Misbehaving child(group(), {"dead-leader"});
  const auto tid = living_thread(*read_stat(child.pid()));
  ASSERT_TRUE(tid);
  const Group threaded = make("threaded");
  must(base::write_at(threaded.fd(), "cgroup.type", "threaded"));
  must(base::write_at(threaded.fd(), "cgroup.threads", std::to_string(*tid)));
  const auto found = must(members(group()));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].pid, child.pid());
  EXPECT_EQ(found[0].group, "");
}

TEST_F(MembersTest, AProcessWhoseLeaderHasExitedIsAMember) {
  const Misbehaving child(group(), {"dead-leader"});
  EXPECT_EQ(read_stat(child.pid())->state, 'Z');
  EXPECT_EQ(pids_of_members(group()), std::vector{child.pid()});
}

TEST_F(MembersTest, AZombieIsNoMember) {
  const Misbehaving parent(group(), {"no-wait", "3"});
  EXPECT_EQ(pids_of_members(group()), std::vector{parent.pid()});
}

TEST_F(MembersTest, AZombieWhoseParentIsOutsideIsNoMember) {
  const Group inside = make("inside"), outside = make("outside");
  const Misbehaving holder(outside, {"zombie-holder", "inside"});
  EXPECT_TRUE(must(members(inside)).empty());
  EXPECT_FALSE(populated(inside));
}

TEST_F(MembersTest, AProcessThatHidInASiblingGroupIsFoundFromAbove) {
  const Group work = make("work"), init = make("init");
  Misbehaving driver(work, {"hide", "init", "."});
  EXPECT_EQ(driver.wait(), 0);
  const auto found = must(members(group()));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].group, "init");
  EXPECT_EQ(found[1].group, "");
  EXPECT_TRUE(must(members(work)).empty());
}

TEST_F(MembersTest, AFrozenInnerGroupIsWalked) {
  Misbehaving driver(group(), {"freeze-inner"});
  EXPECT_EQ(driver.wait(), 0);
  const auto found = must(members(group()));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].group, "inner");
}

TEST_F(MembersTest, TenThousandInTheirOwnSessionsAreCountedExactly) {
  Misbehaving driver(group(), {"setsid", "10000"});
  EXPECT_EQ(driver.wait(), 0);
  EXPECT_EQ(must(count(group())), 10'000U);
  const auto seen = look_at(group(), {.driver = driver.pid(), .driver_sid = getsid(0)});
  EXPECT_EQ(seen.size(), 10'000U);
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](const auto& entry) {
    return entry.second.detached == run::Detached::own_session;
  }));
}

}  // namespace
}  // namespace corral::cgroup
