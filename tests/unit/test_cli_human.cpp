#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <csignal>

#include "cli/human.h"

namespace corral::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(SpanText, HasTwoFiguresAtMost) {
  EXPECT_EQ(span_text(microseconds{0}), "0us");
  EXPECT_EQ(span_text(microseconds{999}), "999us");
  EXPECT_EQ(span_text(microseconds{12'345}), "12ms");
  EXPECT_EQ(span_text(milliseconds{1'290}), "1.2s");
  EXPECT_EQ(span_text(seconds{5}), "5.0s");
  EXPECT_EQ(span_text(milliseconds{59'999}), "59.9s");
  EXPECT_EQ(span_text(seconds{185}), "3min 5s");
  EXPECT_EQ(span_text(minutes{130}), "2h 10min");
  EXPECT_EQ(span_text(hours{99}), "4d 3h");
  EXPECT_EQ(span_text(microseconds{-5}), "0us");
}

TEST(BytesText, RoundsToThreeFigures) {
  EXPECT_EQ(bytes_text(0), "0B");
  EXPECT_EQ(bytes_text(1023), "1023B");
  EXPECT_EQ(bytes_text(1024), "1.0K");
  EXPECT_EQ(bytes_text(1'258'291), "1.2M");
  EXPECT_EQ(bytes_text(389ULL << 20), "389M");
  EXPECT_EQ(bytes_text((1ULL << 20) - 1), "1.0M");
  EXPECT_EQ(bytes_text(10ULL * 1024 - 1), "10K");
  EXPECT_EQ(bytes_text(~0ULL), "16E");
}

TEST(CountText, KnowsTheSingular) {
  EXPECT_EQ(count_text(0, "run", "runs"), "0 runs");
  EXPECT_EQ(count_text(1, "run", "runs"), "1 run");
  EXPECT_EQ(count_text(2, "run", "runs"), "2 runs");
}

TEST(TimeText, IsADashForNever) {
  EXPECT_EQ(time_text(0), "-");
  EXPECT_NE(time_text(1'700'000'000'000'000).find("2023-11-14"), std::string::npos);
}

TEST(Signals, AreTakenByNameAndNumber) {
  EXPECT_EQ(parse_signal("TERM"), SIGTERM);
  EXPECT_EQ(parse_signal("SIGTERM"), SIGTERM);
  EXPECT_EQ(parse_signal("sigusr1"), SIGUSR1);
  EXPECT_EQ(parse_signal("9"), SIGKILL);
  for (const char* text : {"", "SIG", "0", "-1", "65", "1000000", "FOO", "TERM ", "SIGSIGTERM"})
    EXPECT_EQ(parse_signal(text), std::nullopt) << text;
}

TEST(SignalText, NamesWhatHasAName) {
  EXPECT_EQ(signal_text(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_text(40), "signal 40");
}

}  // namespace
}  // namespace corral::cli
