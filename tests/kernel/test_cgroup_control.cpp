#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <atomic>
#include <new>
#include <stdexcept>

#include "base/file.h"
#include "cgroup/proc_stat.h"
#include "cgroup/walk.h"
#include "cgroup_test.h"

namespace corral::cgroup {
namespace {

using KillTest = CgroupTest;
using SignalTest = CgroupTest;
using FreezeTest = CgroupTest;
using WaitTest = CgroupTest;

bool ends(const Group& group) {
  return wait_populated(group, false, kDeadline).value_or(false);
}

// Counts across all that a child forks.
class SharedCounter {
 public:
  SharedCounter() {
    void* page = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    value_ = new (page) std::atomic<int>(0);
  }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  ~SharedCounter() { munmap(value_, sizeof *value_); }
  std::atomic<int>& operator*() const { return *value_; }

 private:
  std::atomic<int>* value_ = nullptr;
};

// Every process forks for as long as there are forks left; none outlives the alarm.
constexpr int kStormForks = 600;
int storm(std::atomic<int>& forks, const Signpost& raging) {
  alarm(20);
  for (int n = forks.fetch_add(1); n < kStormForks; n = forks.fetch_add(1)) {
    if (n == kStormForks / 6) raging.reached();
    if (fork() == 0) alarm(20);
  }
  for (;;) pause();
}

TEST_F(KillTest, AForkStormEndsInOneStep) {
  const SharedCounter forks;
  const Signpost raging;
  Child child(group(), [&] { return storm(*forks, raging); });
  ASSERT_TRUE(raging.wait());
  must(cgroup::kill(group()));
  EXPECT_TRUE(ends(group()));
  EXPECT_EQ(child.wait(), -SIGKILL);
}

TEST_F(KillTest, AForkStormIsWalkedDown) {
  const SharedCounter forks;
  const Signpost raging;
  Child child(group(), [&] { return storm(*forks, raging); });
  ASSERT_TRUE(raging.wait());
  EXPECT_GT(must(kill_by_walk(group())), 0U);
  EXPECT_TRUE(ends(group()));
}

TEST_F(KillTest, NestedGroupsAreReachedWhereverTheyLie) {
  const Group a = make("a");
  const Group b = must(Group::create(a.fd(), "b"));
  const Group c = must(Group::create(b.fd(), "c"));
  for (const bool walk : {false, true}) {
    // A group that was killed once may kill what is born in it: hence a fresh leaf for each.
    const Group leaf = must(Group::create(c.fd(), walk ? "walked" : "killed"));
    Child deep(leaf, linger);
    if (walk)
      EXPECT_EQ(must(kill_by_walk(leaf)), 1U);
    else
      must(cgroup::kill(leaf));
    EXPECT_TRUE(ends(group()));
  }
}

TEST_F(KillTest, AGroupTwoHundredLevelsDownIsWalkedTo) {
  const Group last = make_chain(200);
  Child child(last, linger);
  EXPECT_EQ(must(kill_by_walk(group())), 1U);
  EXPECT_EQ(child.wait(), -SIGKILL);
  EXPECT_TRUE(ends(group()));
}

TEST_F(KillTest, WhoKillsSparesTheSiblings) {
  const Group a = make("a"), longer = make("aa");
  Child victim(a, linger), sibling(longer, linger);
  must(cgroup::kill(a));
  must(kill_by_walk(a));
  EXPECT_EQ(victim.wait(), -SIGKILL);
  EXPECT_TRUE(populated(longer));
  EXPECT_FALSE(sibling.pidfd().exited());
}

TEST_F(KillTest, AGroupThatIsGoneIsDeadAlready) {
  const Group a = make("a");
  ASSERT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
  EXPECT_TRUE(cgroup::kill(a));
  EXPECT_EQ(must(kill_by_walk(a)), 0U);
  EXPECT_EQ(must(signal_all(a, SIGTERM)), 0U);
  EXPECT_FALSE(must(signal_member(a, getpid(), SIGTERM)));
  EXPECT_TRUE(set_frozen(a, true));
  EXPECT_TRUE(thaw_tree(a));
}

TEST_F(KillTest, TheRootOfTheHierarchyIsNeverWalked) {
  const Group root = must(Group::open(AT_FDCWD, must(find_mount()).path));
  if (root.events())
    GTEST_SKIP() << "the mount's root is not the hierarchy's: needs the whole of it";
  EXPECT_TRUE(cgroup::kill(root));
  EXPECT_TRUE(set_frozen(root, true));
}

void* linger_in_thread(void* signpost) {
  // Not before the leader is seen to be gone.
  while (read_stat(getpid()).value_or(ProcStat{}).state != 'Z') sched_yield();
  static_cast<const Signpost*>(signpost)->reached();
  linger();
  return nullptr;
}

// What pthread_exit(3) in main comes to, without unwinding the test's frames.
int exit_the_leader(Signpost& alone) {
  pthread_t thread{};
  if (pthread_create(&thread, nullptr, linger_in_thread, &alone) != 0) return 1;
  for (;;) syscall(SYS_exit, 0);
}

TEST_F(KillTest, AProcessWhoseLeaderExitedEndsByKillAndWalk) {
  Signpost alone;
  Child child(group(), [&] { return exit_the_leader(alone); });
  ASSERT_TRUE(alone.wait());
  must(cgroup::kill(group()));
  must(kill_by_walk(group()));
  EXPECT_TRUE(ends(group()));
  EXPECT_TRUE(eventually([&] { return child.pidfd().exited(); }));
}

TEST_F(KillTest, AProcessWhoseLeaderExitedEndsByTheWalkAlone) {
  Signpost alone;
  Child child(group(), [&] { return exit_the_leader(alone); });
  ASSERT_TRUE(alone.wait());
  EXPECT_FALSE(child.pidfd().exited());
  EXPECT_EQ(must(kill_by_walk(group())), 1U);
  EXPECT_TRUE(ends(group()));
}

TEST_F(KillTest, AStoppedProcessEnds) {
  Child child(group(), linger);
  must(child.pidfd().signal(SIGSTOP));
  ASSERT_TRUE(eventually([&] { return read_stat(child.pid()).value_or(ProcStat{}).state == 'T'; }));
  must(cgroup::kill(group()));
  EXPECT_TRUE(ends(group()));
  EXPECT_EQ(child.wait(), -SIGKILL);
}

TEST_F(KillTest, APtraceStoppedProcessEnds) {
  Child child(group(), [] {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    return linger();
  });
  ASSERT_TRUE(eventually([&] { return read_stat(child.pid()).value_or(ProcStat{}).state == 't'; }));
  must(cgroup::kill(group()));
  EXPECT_TRUE(ends(group()));
  EXPECT_EQ(child.wait(), -SIGKILL);
}

TEST_F(KillTest, AFrozenGroupAndAnInnerFrozenOneEnd) {
  const Group a = make("a");
  const Group inner = must(Group::create(a.fd(), "inner"));
  Child outside(a, linger), inside(inner, linger);
  must(set_frozen(inner, true));
  ASSERT_TRUE(must(wait_frozen(inner, true, kDeadline)));
  const Freeze frozen = must(Freeze::begin(a));
  ASSERT_TRUE(must(wait_frozen(a, true, kDeadline)));
  must(cgroup::kill(a));
  EXPECT_TRUE(ends(a));
  EXPECT_EQ(inside.wait(), -SIGKILL);
  EXPECT_EQ(outside.wait(), -SIGKILL);
}

TEST_F(KillTest, AFrozenGroupIsWalkedDownToo) {
  const Group a = make("a");
  Child child(a, linger);
  must(set_frozen(a, true));
  ASSERT_TRUE(must(wait_frozen(a, true, kDeadline)));
  EXPECT_EQ(must(kill_by_walk(a)), 1U);
  EXPECT_TRUE(ends(a));
}

struct Threads {
  int directory;
  const Signpost& moved;
};
void* move_into(void* argument) {
  const auto& threads = *static_cast<Threads*>(argument);
  if (base::write_at(threads.directory, "cgroup.threads", "0")) threads.moved.reached();
  linger();
  return nullptr;
}

TEST_F(KillTest, AThreadedGroupIsKilledThroughItsDomain) {
  const Group domain = make("domain");
  const Group threaded = must(Group::create(domain.fd(), "threaded"));
  must(base::write_at(threaded.fd(), "cgroup.type", "threaded"));
  const Signpost moved;
  Child child(domain, [&] {
    Threads threads{threaded.fd(), moved};
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, move_into, &threads) != 0) return 1;
    return linger();
  });
  ASSERT_TRUE(moved.wait());
  EXPECT_TRUE(populated(threaded));
  EXPECT_THAT(must(pids_of(threaded)), testing::IsEmpty());
  EXPECT_TRUE(cgroup::kill(threaded)) << "is none to kill by itself";
  EXPECT_FALSE(child.pidfd().exited());
  EXPECT_EQ(must(signal_all(domain, SIGURG)), 1U);
  must(cgroup::kill(domain));
  EXPECT_TRUE(ends(domain));
  EXPECT_EQ(child.wait(), -SIGKILL);
}

// Waits for SIGUSR1 and exits with 3.
int exit_on_usr1(const Signpost& ready) {
  signal(SIGUSR1, [](int) { _exit(3); });
  ready.reached();
  return linger();
}

TEST_F(SignalTest, EachProcessOfTheTreeIsSignalledOnceExceptOne) {
  const Group a = make("a");
  const Group b = must(Group::create(a.fd(), "b"));
  const Signpost ready;
  Child first(a, [&] { return exit_on_usr1(ready); });
  Child second(b, [&] { return exit_on_usr1(ready); });
  Child spared(a, [&] { return exit_on_usr1(ready); });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ready.wait());
  EXPECT_EQ(must(signal_all(a, SIGUSR1, spared.pid())), 2U);
  EXPECT_EQ(first.wait(), 3);
  EXPECT_EQ(second.wait(), 3);
  EXPECT_FALSE(spared.pidfd().exited());
  EXPECT_EQ(must(signal_all(a, SIGUSR1)), 1U);
  EXPECT_EQ(spared.wait(), 3);
}

TEST_F(SignalTest, AProcessThatWasMovedOutIsNotSignalled) {
  const Group a = make("a"), longer = make("aa");
  const Signpost ready;
  Child child(a, [&] { return exit_on_usr1(ready); });
  ASSERT_TRUE(ready.wait());
  must(base::write_at(longer.fd(), "cgroup.procs", std::to_string(child.pid())));
  EXPECT_FALSE(must(signal_member(a, child.pid(), SIGUSR1)));
  EXPECT_FALSE(must(signal_member(a, getpid(), SIGUSR1)));
  EXPECT_EQ(must(signal_all(a, SIGUSR1)), 0U);
  EXPECT_TRUE(must(signal_member(longer, child.pid(), SIGUSR1)));
  EXPECT_EQ(child.wait(), 3);
}

TEST_F(SignalTest, AProcessThatWentIsNotCounted) {
  Child child(group(), [] { return 0; });
  ASSERT_TRUE(eventually([&] { return child.pidfd().exited(); }));
  EXPECT_FALSE(must(signal_member(group(), child.pid(), SIGTERM))) << "is a zombie";
  child.wait();
  EXPECT_FALSE(must(signal_member(group(), child.pid(), SIGTERM)));
  EXPECT_EQ(must(signal_all(group(), SIGTERM)), 0U);
}

TEST_F(SignalTest, AProcessOfAnInnerPidNamespaceIsSignalledByItsNumberHere) {
  const Signpost ready;
  Child outer(group(), [&] {
    if (unshare(CLONE_NEWPID) < 0) return 1;
    const pid_t inner = fork();
    if (inner == 0) return exit_on_usr1(ready);
    int status = 0;
    signal(SIGUSR1, SIG_IGN);
    waitpid(inner, &status, 0);
    return WEXITSTATUS(status);
  });
  ASSERT_TRUE(ready.wait());
  EXPECT_EQ(must(signal_all(group(), SIGUSR1, outer.pid())), 1U);
  EXPECT_EQ(outer.wait(), 3);
}

TEST_F(FreezeTest, TheGuardThawsOnEveryWayOut) {
  const Group a = make("a");
  Child child(a, linger);
  {
    const Freeze frozen = must(Freeze::begin(a));
    EXPECT_TRUE(must(wait_frozen(a, true, kDeadline)));
  }
  EXPECT_TRUE(must(wait_frozen(a, false, kDeadline)));
  try {
    Freeze first = must(Freeze::begin(a));
    const Freeze frozen = std::move(first);
    EXPECT_TRUE(must(wait_frozen(a, true, kDeadline)));
    throw std::runtime_error("a bug");
  } catch (const std::runtime_error&) {
  }
  EXPECT_TRUE(must(wait_frozen(a, false, kDeadline)));
}

TEST_F(FreezeTest, AMovedGuardThawsOnce) {
  const Group a = make("a");
  Child child(a, linger);
  std::optional<Freeze> first(must(Freeze::begin(a)));
  const Freeze second = std::move(*first);
  first.reset();
  EXPECT_TRUE(must(wait_frozen(a, true, kDeadline)));
  EXPECT_EQ(must(base::read_at(a.fd(), "cgroup.freeze")), "1\n");
}

TEST_F(FreezeTest, TheGuardOutlivesTheGroup) {
  std::optional<Group> a = make("a");
  const Freeze frozen = must(Freeze::begin(*a));
  a.reset();
  EXPECT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
}

TEST_F(FreezeTest, GroupsThatFrozeThemselvesAreThawedAtAnyDepth) {
  const Group last = make_chain(200);
  const Signpost ready;
  Child child(last, [&] { return exit_on_usr1(ready); });
  ASSERT_TRUE(ready.wait());
  must(set_frozen(last, true));
  must(set_frozen(group(), true));
  ASSERT_TRUE(must(wait_frozen(group(), true, kDeadline)));
  EXPECT_EQ(must(signal_all(group(), SIGUSR1)), 1U);
  EXPECT_FALSE(child.pidfd().exited());
  must(thaw_tree(group()));
  EXPECT_EQ(child.wait(), 3);
}

TEST_F(WaitTest, TheEndOfTheLastProcessIsSeen) {
  Child child(group(), linger);
  EXPECT_FALSE(must(wait_populated(group(), false, std::chrono::milliseconds(1))));
  EXPECT_TRUE(must(wait_populated(group(), true, std::chrono::milliseconds(0))));
  must(child.pidfd().signal(SIGKILL));
  EXPECT_TRUE(must(wait_populated(group(), false, kDeadline)));
}

TEST_F(WaitTest, AGroupThatIsGoneIsNeitherPopulatedNorFrozen) {
  const Group a = make("a");
  ASSERT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
  EXPECT_TRUE(must(wait_populated(a, false, kDeadline)));
  EXPECT_FALSE(must(wait_populated(a, true, kDeadline)));
  EXPECT_FALSE(must(wait_frozen(a, true, kDeadline)));
}

}  // namespace
}  // namespace corral::cgroup
