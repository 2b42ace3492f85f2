#include <numeric>

#include "base/escape.h"
#include "processes_test.h"

namespace corral::cgroup {
namespace {

using DescribeTest = ProcessesTest;
using testing::ElementsAre;

size_t bytes_of(const std::vector<std::string>& argv) {
  return std::accumulate(argv.begin(), argv.end(), size_t{0},
                         [](size_t sum, const std::string& next) { return sum + next.size(); });
}

// `program` is the name, and argv[0], of a process that only sleeps.
std::vector<std::string> sleeper() {
  return {"sleeper", "1", "ready"};
}

TEST_F(DescribeTest, AnExecutedDriverIsNamedByWhatItIsNow) {
  const Misbehaving driver(group(), {"exec-other"});
  const run::Process process = only();
  EXPECT_EQ(process.exe, CORRAL_MISBEHAVE);
  EXPECT_THAT(process.argv, ElementsAre("something-else", "sleeper", "1", "ready"));
  EXPECT_FALSE(process.argv_truncated);
  EXPECT_EQ(process.uid, geteuid());
}

TEST_F(DescribeTest, TheUidIsTheEffectiveOneEvenOfAProcessThatMayNotBeDumped) {
  const Signpost there;
  const Child child(group(), [&] {
    if (seteuid(65534) == 0) there.reached();
    return linger();
  });
  ASSERT_TRUE(there.wait());
  EXPECT_EQ(only().uid, 65534U);
}

TEST_F(DescribeTest, EmptyArgumentsAreKept) {
  const Misbehaving child(group(), {"sleeper", "1", "ready", "", "x", ""});
  EXPECT_THAT(only().argv, ElementsAre("misbehave", "sleeper", "1", "ready", "", "x", ""));
}

TEST_F(DescribeTest, TwoMegabytesOfArgumentsAreCut) {
  Misbehaving driver(group(), {"big-argv", "1", "2000000"});
  EXPECT_EQ(driver.wait(), 0);
  const run::Process process = only();
  EXPECT_TRUE(process.argv_truncated);
  EXPECT_LE(bytes_of(process.argv), run::kArgvBytes);
  EXPECT_GT(bytes_of(process.argv), run::kArgvBytes - 8) << "what lies between them counts, too";
  ASSERT_EQ(process.argv.size(), 4U);
  EXPECT_EQ(process.argv[1], "sleeper");
  EXPECT_EQ(process.argv[3], std::string(process.argv[3].size(), 'a'));
}

TEST_F(DescribeTest, ANameThatIsLongerThanTheCutIsCutInside) {
  const Misbehaving child(group(), sleeper(), std::string(5000, 'x'));
  const run::Process process = only();
  EXPECT_THAT(process.argv, ElementsAre(std::string(run::kArgvBytes, 'x')));
  EXPECT_TRUE(process.argv_truncated);
}

TEST_F(DescribeTest, ACommandLineOfJustTheCutIsWhole) {
  const size_t rest = std::string("sleeper1ready").size();
  const Misbehaving child(group(), sleeper(), std::string(run::kArgvBytes - rest - 4, 'x'));
  const run::Process process = only();
  EXPECT_EQ(process.argv.size(), 4U);
  EXPECT_FALSE(process.argv_truncated);
}

TEST_F(DescribeTest, TheCutLeavesNoHalfCharacter) {
  std::string name = "a";
  for (int i = 0; i < 2000; ++i) name += "€";
  const Misbehaving child(group(), sleeper(), name);
  const run::Process process = only();
  ASSERT_EQ(process.argv.size(), 1U);
  EXPECT_EQ(process.argv[0], name.substr(0, 1 + (run::kArgvBytes - 1) / 3 * 3));
  EXPECT_TRUE(base::is_utf8(process.argv[0]));
}

TEST_F(DescribeTest, TheCutIsMadeAfterEscapingAndLeavesNoHalfEscape) {
  const Misbehaving child(group(), sleeper(), "a" + std::string(2000, '\x01'));
  const run::Process process = only();
  ASSERT_EQ(process.argv.size(), 1U);
  EXPECT_TRUE(process.argv_truncated);
  EXPECT_EQ(process.argv[0].size(), 1 + (run::kArgvBytes - 1) / 4 * 4);
  EXPECT_TRUE(process.argv[0].ends_with("\\x01\\x01"));
}

TEST_F(DescribeTest, ManyArgumentsAreCutByTheirNumber) {
  std::vector<std::string> argv = sleeper();
  argv.resize(3000);
  argv.back() = "last";
  const Misbehaving child(group(), argv);
  const run::Process process = only();
  EXPECT_EQ(process.argv.size(), kArgvCount);
  EXPECT_TRUE(process.argv_truncated);
}

TEST_F(DescribeTest, ANumberThatNowNamesAnotherIsLeftAlone) {
  const Child child(group(), linger);
  run::Process process = look_at(group()).at(child.pid());
  process.start_time -= 1;
  process.state = "?";
  const run::Process before = process;
  describe(process);
  EXPECT_EQ(process, before);
  describe_wait(process);
  EXPECT_EQ(process, before);
}

TEST_F(DescribeTest, OneThatWentIsLeftAlone) {
  Child child(group(), linger);
  run::Process process = look_at(group()).at(child.pid());
  const run::Process before = process;
  must(child.pidfd().signal(SIGKILL));
  child.wait();
  describe(process);
  describe_wait(process);
  EXPECT_EQ(process, before);
}

TEST_F(DescribeTest, WhatAProcessWaitsForIsSaid) {
  const Misbehaving child(group(), {"exec-other"});
  run::Process process = look_at(group()).at(child.pid());
  // It has said that it is ready, and is on its way to sleep.
  EXPECT_TRUE(eventually([&] {
    describe_wait(process);
    return process.state == "S" && process.wchan.find("nanosleep") != std::string::npos;
  })) << process.state
      << " " << process.wchan;
}

TEST_F(DescribeTest, AThreadThatLivesOnIsWhatWaits) {
  const Misbehaving child(group(), {"dead-leader"});
  run::Process process = look_at(group()).at(child.pid());
  EXPECT_TRUE(eventually([&] {
    describe_wait(process);
    return process.state == "S" && !process.wchan.empty();
  })) << process.state
      << " " << process.wchan;
}

}  // namespace
}  // namespace corral::cgroup
