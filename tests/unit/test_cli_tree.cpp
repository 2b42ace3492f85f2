#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "cli/printable.h"
#include "cli/tree.h"

namespace corral::cli {
namespace {

using testing::ElementsAre;

run::Process process(uint32_t pid, uint32_t ppid, uint64_t start, std::string name) {
  run::Process p;
  p.pid = pid;
  p.ppid = ppid;
  p.start_timestamp = start;
  p.argv = {std::move(name)};
  return p;
}

TEST(TreeLines, PutChildrenBelowTheirParents) {
  EXPECT_THAT(tree_lines({process(12, 10, 3, "c"), process(10, 1, 1, "a"), process(11, 10, 2, "b"),
                          process(13, 11, 4, "d")}),
              ElementsAre("10 a", "├─11 b", "│ └─13 d", "└─12 c"));
}

TEST(TreeLines, PutOrphansAtTheLeft) {
  EXPECT_THAT(tree_lines({process(10, 1, 1, "a"), process(20, 1, 2, "b")}),
              ElementsAre("10 a", "20 b"));
}

TEST(TreeLines, ShowHowAProcessIsDetachedAndWhereItListens) {
  run::Process p = process(10, 1, 1, "vite");
  p.detached = run::Detached::own_session;
  p.listening = {"tcp:127.0.0.1:5173"};
  EXPECT_THAT(tree_lines({p}), ElementsAre("10 vite  (own-session)  tcp:127.0.0.1:5173"));
}

TEST(TreeLines, SurvivePidsThatCameAgain) {
  EXPECT_THAT(tree_lines({process(10, 11, 1, "a"), process(11, 10, 1, "b"), process(5, 5, 1, "c")}),
              ElementsAre("5 c", "10 a", "└─11 b"));
}

TEST(TreeLines, DoNotGrowWithoutBoundInAChain) {
  std::vector<run::Process> chain;
  for (uint32_t pid = 2; pid < 10'000; ++pid) chain.push_back(process(pid, pid - 1, pid, "x"));
  const auto lines = tree_lines(chain);
  ASSERT_EQ(lines.size(), chain.size());
  EXPECT_LT(columns(lines.back()), 2 * kDeepest + 20);
}

TEST(TitleOf, IsTheNameInBracketsWithoutACommandLine) {
  run::Process p;
  p.comm = "kthread";
  EXPECT_EQ(title_of(p), "[kthread]");
}

RC_GTEST_PROP(TreeLines, ShowEveryProcessOnce, ()) {
  const auto parents =
      *rc::gen::container<std::vector<uint32_t>>(rc::gen::inRange<uint32_t>(0, 30));
  std::vector<run::Process> processes;
  for (uint32_t i = 0; i < parents.size(); ++i)
    processes.push_back(process(i + 1, parents[i], *rc::gen::inRange<uint64_t>(0, 5), "x"));
  RC_ASSERT(tree_lines(processes).size() == processes.size());
}

}  // namespace
}  // namespace corral::cli
