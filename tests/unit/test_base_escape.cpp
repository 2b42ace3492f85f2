#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

#include "base/escape.h"
#include "base/parse.h"

namespace corral::base {
namespace {

using namespace std::string_literals;

// What escape() promises to be reversible.
std::string unescape(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    if (text.starts_with("\\x")) {
      bytes += static_cast<char>(number<uint8_t>(text.substr(2, 2), 16).value());
      text.remove_prefix(4);
    } else {
      bytes += text[0];
      text.remove_prefix(1);
    }
  }
  return bytes;
}

std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

TEST(Escape, LeavesPrintableTextOfEveryLengthOfUtf8AsItIs) {
  const std::string text = "plain ~ \u00a0 \u00e9 \u20ac \U0001f410 \U0010fffd";
  EXPECT_EQ(escape(text), text);
}

TEST(Escape, WritesTheBackslashAsItsByteSoThatItIsReversible) {
  EXPECT_EQ(escape("a\\x41"), "a\\x5cx41");
}

TEST(Escape, WritesEveryC0ControlAndDelAsItsByte) {
  EXPECT_EQ(escape("\0\t\n\x1b[2J\x1f\x7f"s), "\\x00\\x09\\x0a\\x1b[2J\\x1f\\x7f");
}

TEST(Escape, WritesC1ControlsThoughTheyAreValidUtf8) {
  EXPECT_EQ(escape("\xc2\x80"), "\\xc2\\x80");
  EXPECT_EQ(escape("\xc2\x9b"), "\\xc2\\x9b");  // what a terminal takes as ESC [
  EXPECT_EQ(escape("\xc2\x9f\xc2\xa0"), "\\xc2\\x9f\xc2\xa0");
}

TEST(Escape, WritesOverlongForms) {
  EXPECT_EQ(escape("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(escape("\xc1\xbf"), "\\xc1\\xbf");
  EXPECT_EQ(escape("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(escape("\xf0\x80\x80\xaf"), "\\xf0\\x80\\x80\\xaf");
}

TEST(Escape, WritesSurrogatesAndWhatLiesBeyondUnicode) {
  EXPECT_EQ(escape("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(escape("\xed\xbf\xbf"), "\\xed\\xbf\\xbf");
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(escape("\xf5\xff"), "\\xf5\\xff");
}

// sd-bus refuses them in a string (EINVAL), though Unicode lets programs exchange them: one such
// process name would cost the whole reply.
TEST(Escape, WritesNoncharactersBecauseTheBusRefusesThem) {
  EXPECT_EQ(escape("\xef\xbf\xbe"), "\\xef\\xbf\\xbe");           // U+FFFE
  EXPECT_EQ(escape("\xef\xb7\x90"), "\\xef\\xb7\\x90");           // U+FDD0
  EXPECT_EQ(escape("\xef\xb7\xb0"), "\xef\xb7\xb0");              // U+FDF0 is a letter
  EXPECT_EQ(escape("\xf0\x9f\xbf\xbf"), "\\xf0\\x9f\\xbf\\xbf");  // U+1FFFF
  EXPECT_EQ(escape("\xf4\x8f\xbf\xbe"), "\\xf4\\x8f\\xbf\\xbe");  // U+10FFFE
}

TEST(Escape, WritesCutSequencesByteByByteAndGoesOn) {
  EXPECT_EQ(escape("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(escape("\xe2\x82"
                   "A\x82"),
            "\\xe2\\x82"
            "A\\x82");
}

RC_GTEST_PROP(Escape, IsReversibleValidAndBoundedForAnyBytes, ()) {
  const std::string bytes = any_bytes();
  const std::string text = escape(bytes);
  RC_ASSERT(unescape(text) == bytes);
  RC_ASSERT(is_utf8(text));
  RC_ASSERT(text.size() <= 4 * bytes.size());
}

TEST(IsUtf8, TakesEverySequenceLength) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\n\\\x7f \u00e9 \u20ac \U0001f410"));
}

TEST(IsUtf8, RefusesNulAndWhatIsNotValid) {
  EXPECT_FALSE(is_utf8("a\0b"s));
  EXPECT_FALSE(is_utf8("\x80"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));
  EXPECT_FALSE(is_utf8("\xf4\x90\x80\x80"));
  EXPECT_FALSE(is_utf8("caf\xe9"));
  EXPECT_FALSE(is_utf8("\xef\xbf\xbf"));  // a noncharacter: sd-bus refuses it
  EXPECT_FALSE(is_utf8("\xe2\x82"));
}

}  // namespace
}  // namespace corral::base
