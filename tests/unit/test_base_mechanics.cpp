#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>

#include "base/callback.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace corral::base {
namespace {

using testing::HasSubstr;

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

UniqueFd null_fd() {
  return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
}

TEST(UniqueFd, ClosesWhatItOwnsOnce) {
  int number = -1;
  {
    UniqueFd fd = null_fd();
    number = fd.get();
    EXPECT_TRUE(fd);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(UniqueFd, OwnsNothingAfterAMoveResetOrRelease) {
  UniqueFd first = null_fd();
  const int number = first.get();
  UniqueFd second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_EQ(second.get(), number);

  second.reset();
  second.reset();
  EXPECT_EQ(second.get(), -1);
  EXPECT_FALSE(is_open(number));

  UniqueFd third = null_fd();
  const UniqueFd taken(third.release());
  EXPECT_FALSE(third);
  EXPECT_TRUE(is_open(taken.get()));
}

TEST(UniqueFd, ClosesItsOldFdWhenItTakesAnother) {
  UniqueFd fd = null_fd();
  const int old = fd.get();
  UniqueFd other = null_fd();
  const int number = other.get();
  fd = std::move(other);
  EXPECT_FALSE(is_open(old));
  EXPECT_EQ(fd.get(), number);

  UniqueFd& itself = fd;
  fd = std::move(itself);
  EXPECT_TRUE(is_open(number));
}

TEST(UniqueFd, LeavesErrnoAloneWhenItCloses) {
  errno = ENOSPC;
  UniqueFd(1'000'000).reset();
  EXPECT_EQ(errno, ENOSPC);
}

TEST(UniqueFd, DuplicatesWithCloseOnExec) {
  const UniqueFd fd = null_fd();
  auto copy = fd.duplicate();
  ASSERT_TRUE(copy);
  EXPECT_NE(copy->get(), fd.get());
  EXPECT_NE(fcntl(copy->get(), F_GETFD) & FD_CLOEXEC, 0);

  auto none = UniqueFd().duplicate();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, EBADF);
}

TEST(Result, HoldsAValueOrTheAttemptWithItsReason) {
  const Result<int> good = 7;
  EXPECT_EQ(*good, 7);
  const Result<int> bad = failed(EINVAL, "write \"12k\" to r42/memory.max");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "write \"12k\" to r42/memory.max: Invalid argument");
  EXPECT_EQ(bad.error().code, EINVAL);
  const Result<void> nothing;
  EXPECT_TRUE(nothing);
}

TEST(Callback, IsEmptyUntilItIsGivenAFunction) {
  Callback<void()> callback;
  EXPECT_FALSE(callback);
  callback = [] {};
  EXPECT_TRUE(callback);
}

TEST(Callback, OwnsWhatCannotBeCopiedAndGivesItToItsFunction) {
  auto value = std::make_unique<int>(3);
  int sum = 0;
  Callback<void(std::unique_ptr<int>)> callback =
      [value = std::move(value), &sum](std::unique_ptr<int> other) { sum += *value + *other; };
  Callback<void(std::unique_ptr<int>)> moved = std::move(callback);
  moved(std::make_unique<int>(4));
  moved(std::make_unique<int>(5));
  EXPECT_EQ(sum, 15);
  EXPECT_FALSE(callback);  // NOLINT(bugprone-use-after-move): that is the question
}

TEST(Callback, LetsGoOfWhatItOwnsWhenItGoes) {
  std::weak_ptr<int> watched;
  {
    auto owned = std::make_shared<int>(1);
    watched = owned;
    const Callback<void()> callback = [owned = std::move(owned)] {};
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST(Clock, GoesForwardAndKnowsWhatHasNotHappened) {
  const Moment first = Moment::now();
  const Moment second = Moment::now();
  EXPECT_TRUE(first);
  EXPECT_FALSE(Moment{});
  EXPECT_LE(first.monotonic_usec, second.monotonic_usec);
  EXPECT_GT(first.realtime_usec, 1'000'000'000'000'000U);  // in microseconds: after 2001
}

TEST(Clock, MeasuresOnTheMonotonicClockAndNeverBackwards) {
  const Moment earlier{9'000, 100};
  const Moment later{1'000, 350};  // the wall clock was set back meanwhile
  EXPECT_EQ(between(earlier, later), std::chrono::microseconds{250});
  EXPECT_EQ(between(later, earlier), std::chrono::microseconds{0});
  EXPECT_EQ(between(later, later), std::chrono::microseconds{0});
}

bool is_hex(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

TEST(Clock, KnowsTheBootById) {
  auto id = boot_id();
  ASSERT_TRUE(id);
  EXPECT_TRUE(is_hex(*id)) << *id;
  EXPECT_EQ(*id, *boot_id());
}

TEST(RandomHex, IsNewEachTime) {
  const std::string first = random_hex();
  EXPECT_TRUE(is_hex(first)) << first;
  EXPECT_NE(first, random_hex());
}

std::string logged(Level level, std::string_view text) {
  testing::internal::CaptureStderr();
  log_line(level, text);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesOneLineWithItsLevelInFront) {
  EXPECT_EQ(logged(Level::error, "it failed"), "<3>it failed\n");
  EXPECT_EQ(logged(Level::debug, ""), "<7>\n");
}

TEST(Log, KeepsItsLineWhateverTheTextHolds) {
  const std::string line = logged(Level::info, std::string_view("a\nb\r\x1b[2J\0\x7f", 10));
  EXPECT_EQ(std::ranges::count(line, '\n'), 1);
  EXPECT_EQ(line, "<6>a\\x0ab\\x0d\\x1b[2J\\x00\\x7f\n");
}

TEST(Log, FormatsItsArguments) {
  testing::internal::CaptureStderr();
  log(Level::warning, "run {}: {} left", "r42", 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "<4>run r42: 3 left\n");
}

}  // namespace
}  // namespace corral::base
