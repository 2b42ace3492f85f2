#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "base/parse.h"

namespace corral::base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Number, TakesTheWholeRangeOfItsType) {
  EXPECT_EQ(number<uint64_t>("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(number<int32_t>("-2147483648"), -2147483647 - 1);
  EXPECT_EQ(number<uint8_t>("255"), 255);
  EXPECT_EQ(number<uint32_t>("007"), 7U);
}

TEST(Number, TakesTheBaseItIsGiven) {
  EXPECT_EQ(number<uint16_t>("1F90", 16), 8080);
  EXPECT_EQ(number<uint32_t>("0644", 8), 0644U);
  EXPECT_FALSE(number<uint16_t>("0x1f", 16));
}

TEST(Number, RefusesWhatIsOutOfRange) {
  EXPECT_FALSE(number<uint64_t>("18446744073709551616"));
  EXPECT_FALSE(number<int32_t>("2147483648"));
  EXPECT_FALSE(number<uint8_t>("256"));
  EXPECT_FALSE(number<uint32_t>("-1"));
}

TEST(Number, RefusesAnythingThatIsNotANumberAlone) {
  for (const char* text :
       {"", " ", "-", "+1", " 1", "1 ", "1\n", "1.0", "1e3", "max", "0x10", "1,000"})
    EXPECT_FALSE(number<int64_t>(text)) << '"' << text << '"';
  EXPECT_FALSE(number<int>(std::string_view("1\0", 2)));
}

RC_GTEST_PROP(Number, ReadsWhatToStringWrites, (int64_t value)) {
  RC_ASSERT(number<int64_t>(std::to_string(value)) == value);
}

TEST(Trimmed, TakesWhiteSpaceFromBothEndsOnly) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed("ab"), "ab");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Split, LeavesEmptyPartsOut) {
  EXPECT_THAT(split("a\n\nb\n", '\n'), ElementsAre("a", "b"));
  EXPECT_THAT(split("/a//b", '/'), ElementsAre("a", "b"));
  EXPECT_THAT(split("one", ','), ElementsAre("one"));
  EXPECT_THAT(split("", ','), IsEmpty());
  EXPECT_THAT(split(",,", ','), IsEmpty());
}

constexpr std::string_view kEvents = "populated 1\nfrozen 0\n";

TEST(Keyed, FindsEveryKeyOfAFlatKeyedFile) {
  EXPECT_EQ(keyed(kEvents, "populated"), 1U);
  EXPECT_EQ(keyed(kEvents, "frozen"), 0U);
  EXPECT_EQ(keyed("usage_usec 18446744073709551615", "usage_usec"), 18446744073709551615U);
}

TEST(Keyed, FindsNoKeyThatIsMissingOrOnlyAPartOfOne) {
  EXPECT_FALSE(keyed(kEvents, "oom"));
  EXPECT_FALSE(keyed(kEvents, "pop"));
  EXPECT_FALSE(keyed("oom_kill 3\n", "oom"));
  EXPECT_FALSE(keyed("", "populated"));
  EXPECT_FALSE(keyed("populated\n", "populated"));
}

TEST(Keyed, TakesNoGarbageForAValue) {
  for (const char* text : {"populated max", "populated -1", "populated 1 2", "populated ",
                           "populated 18446744073709551616", "populated\t1"})
    EXPECT_FALSE(keyed(text, "populated")) << text;
}

}  // namespace
}  // namespace corral::base
