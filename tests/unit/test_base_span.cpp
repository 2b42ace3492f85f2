#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/span.h"

namespace corral::base {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ParseSpan, TakesTheUnitsOfSystemd) {
  EXPECT_EQ(parse_span("5"), seconds{5});
  EXPECT_EQ(parse_span("0"), seconds{0});
  EXPECT_EQ(parse_span("200ms"), milliseconds{200});
  EXPECT_EQ(parse_span("850us"), microseconds{850});
  EXPECT_EQ(parse_span("1.5s"), milliseconds{1500});
  EXPECT_EQ(parse_span("1min 30s"), seconds{90});
  EXPECT_EQ(parse_span(" 2h30min "), minutes{150});
  EXPECT_EQ(parse_span("1 week"), hours{168});
  EXPECT_EQ(parse_span("1y"), 12 * *parse_span("1M"));
}

TEST(ParseSpan, RefusesEverythingElse) {
  for (const char* text : {"", " ", "s", "-1", "5x", "1e3", ".5", "5.", "1..5", "5 s s", "5S",
                           "inf", "infinity", "99999999999999999", "999999999999999w", "5s\n"})
    EXPECT_EQ(parse_span(text), std::nullopt) << text;
}

RC_GTEST_PROP(ParseSpan, TakesEveryWholeNumberOfMicroseconds, ()) {
  const auto usec = *rc::gen::inRange<int64_t>(0, 1'000'000'000'000);
  RC_ASSERT(parse_span(std::to_string(usec) + "us") == microseconds{usec});
}

RC_GTEST_PROP(ParseSpan, NeverGivesANegativeSpan, (const std::string& text)) {
  const auto span = parse_span(text);
  RC_ASSERT(!span || span->count() >= 0);
}

TEST(ExactSpan, NamesEveryPart) {
  EXPECT_EQ(exact_span(microseconds{0}), "0");
  EXPECT_EQ(exact_span(milliseconds{500}), "500ms");
  EXPECT_EQ(exact_span(seconds{90}), "1min 30s");
  EXPECT_EQ(exact_span(hours{168}), "7d");
  EXPECT_EQ(exact_span(microseconds{1'000'001}), "1s 1us");
  EXPECT_EQ(exact_span(microseconds{-1}), "0");
}

RC_GTEST_PROP(ExactSpan, ReadsTheSameAgain, ()) {
  const microseconds span{*rc::gen::inRange<int64_t>(0, 1'000'000'000'000'000)};
  RC_ASSERT(parse_span(exact_span(span)) == span);
}

}  // namespace
}  // namespace corral::base
