#include <set>
#include <vector>

#include "base/file.h"
#include "base/parse.h"
#include "cgroup_test.h"

namespace corral::cgroup {
namespace {

using std::chrono::milliseconds;
using RemoveTest = CgroupTest;
using JanitorTest = CgroupTest;

constexpr milliseconds kBound{5000};

bool is_there(const Group& parent, const char* name) {
  return faccessat(parent.fd(), name, F_OK, 0) == 0;
}

// The outcomes of `count` removals, as they come.
std::vector<Janitor::Outcome> outcomes(Janitor& janitor, size_t count) {
  std::vector<Janitor::Outcome> all;
  while (all.size() < count) {
    pollfd ready{.fd = janitor.fd(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, milliseconds(kDeadline).count()) != 1) break;
    for (auto& outcome : janitor.take()) all.push_back(std::move(outcome));
  }
  return all;
}

TEST_F(RemoveTest, AnEmptyTreeGoesWhateverItsDepthAndWidth) {
  const uint64_t id = [this] {
    make_chain(200);
    const Group top = must(Group::open(group().fd(), "d"));
    for (const char* name : {"a", "b", "c"}) must(Group::create(top.fd(), name));
    return top.id();
  }();
  EXPECT_EQ(must(remove_tree(group().fd(), "d", id)), Removed::yes);
  EXPECT_FALSE(is_there(group(), "d"));
  EXPECT_EQ(must(remove_tree(group().fd(), "d", id)), Removed::gone);
}

TEST_F(RemoveTest, WhatLivesKeepsItsGroupAndThoseAbove) {
  const Group a = make("a");
  const Group lived = must(Group::create(a.fd(), "lived"));
  const Group empty = must(Group::create(a.fd(), "z"));
  Child child(lived, linger);
  EXPECT_EQ(must(remove_tree(group().fd(), "a", a.id())), Removed::busy);
  EXPECT_TRUE(is_there(a, "lived"));
  EXPECT_FALSE(is_there(a, "z"));
  EXPECT_FALSE(child.pidfd().exited());
}

TEST_F(RemoveTest, ARecreatedDirectoryIsNotTouched) {
  const uint64_t old = make("a").id();
  ASSERT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
  const Group fresh = make("a");
  const Group inner = must(Group::create(fresh.fd(), "inner"));
  EXPECT_EQ(must(remove_tree(group().fd(), "a", old)), Removed::gone);
  EXPECT_TRUE(is_there(fresh, "inner"));
}

TEST_F(RemoveTest, WhatIsNoCgroupIsAnError) {
  EXPECT_FALSE(remove_tree(AT_FDCWD, "/proc", 1));
}

TEST_F(JanitorTest, TreesGoOneAfterTheOther) {
  Janitor janitor(kBound);
  make_chain(50);
  const Group deep = must(Group::open(group().fd(), "d")), flat = make("flat");
  janitor.remove(group().fd(), "d", deep.id());
  janitor.remove(group().fd(), "flat", flat.id());
  const auto all = outcomes(janitor, 2);
  ASSERT_EQ(all.size(), 2U);
  for (const auto& outcome : all) {
    EXPECT_EQ(outcome.removed, Removed::yes) << outcome.name;
    EXPECT_EQ(outcome.error, "");
  }
  EXPECT_THAT(must(group().children()), testing::IsEmpty());
  EXPECT_THAT(janitor.take(), testing::IsEmpty());
}

TEST_F(JanitorTest, ABusyTreeIsGivenUpAfterTheBoundAndKeepsNobodyWaiting) {
  const Group busy = make("busy"), empty = make("empty");
  Child child(busy, linger);
  const auto begun = std::chrono::steady_clock::now();
  Janitor janitor(milliseconds(300));
  janitor.remove(group().fd(), "busy", busy.id());
  janitor.remove(group().fd(), "empty", empty.id());
  const auto all = outcomes(janitor, 2);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].name, "empty");
  EXPECT_EQ(all[1].name, "busy");
  EXPECT_EQ(all[1].removed, Removed::busy);
  EXPECT_EQ(all[1].error, "");
  EXPECT_GE(std::chrono::steady_clock::now() - begun, milliseconds(300));
  EXPECT_TRUE(is_there(group(), "busy"));
}

TEST_F(JanitorTest, ATreeThatIsBusyForAMomentGoesOnceItIsEmpty) {
  const Group a = make("a");
  Child child(a, linger);
  Janitor janitor(kBound);
  janitor.remove(group().fd(), "a", a.id());
  must(child.pidfd().signal(SIGKILL));
  const auto all = outcomes(janitor, 1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].removed, Removed::yes);
}

TEST_F(JanitorTest, ADirectoryThatTookTheNameIsLeftAlone) {
  const uint64_t old = make("a").id();
  ASSERT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
  const Group fresh = make("a");
  Janitor janitor(kBound);
  janitor.remove(group().fd(), "a", old);
  const auto all = outcomes(janitor, 1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].removed, Removed::gone);
  EXPECT_TRUE(is_there(group(), "a"));
}

TEST_F(JanitorTest, AnErrorIsTold) {
  Janitor janitor(milliseconds(20));
  const UniqueFd top = must(base::open_at(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
  janitor.remove(top.get(), "proc", 1);
  const auto all = outcomes(janitor, 1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_THAT(all[0].error, testing::HasSubstr("proc"));
}

TEST_F(JanitorTest, WhatIsQueuedIsFinishedBeforeItGoes) {
  {
    Janitor janitor(kBound);
    for (const char* name : {"a", "b", "c"}) {
      const Group sub = make(name);
      janitor.remove(group().fd(), name, sub.id());
    }
  }
  EXPECT_THAT(must(group().children()), testing::IsEmpty());
}

#ifndef __SANITIZE_THREAD__  // its runtime has a thread of its own
std::set<std::string> threads() {
  std::set<std::string> all;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task"))
    all.insert(thread.path());
  return all;
}

// The signals that a thread blocks, bit n - 1 for signal n (proc_pid_status(5)).
uint64_t blocked(const std::string& thread) {
  const std::string text = must(base::read_at(AT_FDCWD, thread + "/status"));
  const size_t at = text.find("SigBlk:\t");
  return base::number<uint64_t>(text.substr(at + 8, 16), 16).value();
}

TEST_F(JanitorTest, ItsThreadTakesNoSignal) {
  const auto before = threads();
  const uint64_t own = blocked("/proc/thread-self");
  Janitor janitor(kBound);
  janitor.remove(group().fd(), "absent", 1);
  ASSERT_EQ(outcomes(janitor, 1).size(), 1U);  // until it works, the C library blocks all
  int found = 0;
  for (const std::string& thread : threads()) {
    if (before.contains(thread)) continue;
    ++found;
    for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGCHLD, SIGUSR1})
      EXPECT_NE(blocked(thread) & uint64_t{1} << (number - 1), 0U) << number;
  }
  EXPECT_EQ(found, 1);
  EXPECT_EQ(blocked("/proc/thread-self"), own);
}
#endif

}  // namespace
}  // namespace corral::cgroup
