#include <sys/inotify.h>

#include "cgroup/record.h"
#include "cgroup_test.h"

namespace corral::cgroup {
namespace {

constexpr const char* kName = "user.corral.run";
using RecordTest = CgroupTest;

TEST_F(RecordTest, WhatWasWrittenIsReadAndASecondReplacesIt) {
  EXPECT_EQ(must(read_record(group(), kName)), std::nullopt);
  must(write_record(group(), kName, R"({"a": 1})"));
  EXPECT_EQ(must(read_record(group(), kName)), R"({"a": 1})");
  const std::string bytes("\0\xff\n", 3);
  must(write_record(group(), kName, bytes));
  EXPECT_EQ(must(read_record(group(), kName)), bytes);
  must(write_record(group(), kName, ""));
  EXPECT_EQ(must(read_record(group(), kName)), "");
}

TEST_F(RecordTest, ItMayBeAsLongAsTheKernelTakesAndNoLonger) {
  const std::string longest(65536, 'x');
  must(write_record(group(), kName, longest));
  EXPECT_EQ(must(read_record(group(), kName)), longest);
  const auto written = write_record(group(), kName, longest + "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, E2BIG);
  EXPECT_THAT(written.error().message, testing::HasSubstr(kName));
  EXPECT_EQ(must(read_record(group(), kName)), longest);
}

TEST_F(RecordTest, AnotherOpenOfTheDirectorySeesItAndARecreatedOneDoesNot) {
  const Group a = make("a");
  must(write_record(a, kName, "old"));
  EXPECT_EQ(must(read_record(must(Group::open(group().fd(), "a")), kName)), "old");
  ASSERT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
  const Group fresh = make("a");
  EXPECT_EQ(must(read_record(fresh, kName)), std::nullopt);
}

TEST_F(RecordTest, AGroupThatIsGoneHasAndTakesNone) {
  const Group a = make("a");
  must(write_record(a, kName, "old"));
  ASSERT_EQ(unlinkat(group().fd(), "a", AT_REMOVEDIR), 0);
  EXPECT_EQ(must(read_record(a, kName)), std::nullopt);
  const auto written = write_record(a, kName, "new");
  ASSERT_FALSE(written);
  EXPECT_TRUE(is_gone(written.error()));
}

TEST_F(RecordTest, WritingWakesWhoWatchesTheDirectory) {
  const UniqueFd watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(inotify_add_watch(watch.get(), path().c_str(), IN_ATTRIB), 0);
  must(write_record(group(), kName, "x"));
  alignas(inotify_event) char buffer[4096];
  pollfd ready{.fd = watch.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&ready, 1, std::chrono::milliseconds(kDeadline).count()), 1);
  ASSERT_GE(read(watch.get(), buffer, sizeof buffer), static_cast<ssize_t>(sizeof(inotify_event)));
  inotify_event event{};
  std::copy_n(buffer, sizeof event, reinterpret_cast<char*>(&event));
  EXPECT_NE(event.mask & IN_ATTRIB, 0U);
}

}  // namespace
}  // namespace corral::cgroup
