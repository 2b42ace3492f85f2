#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/escape.h"
#include "base/parse.h"
#include "fuzz.h"

namespace corral::base {
namespace {

using fuzz::fuzz;
using fuzz::is_clean;

TEST(FuzzEscape, WhatItMakesIsCleanAndBounded) {
  fuzz(
      {"node server.js", "caf\u00e9 \u20ac \U0001f410", "a\\b", "\x1b[31m", "\xc2\x9b\xed\xa0\x80"},
      [](std::string_view text) {
        const std::string escaped = escape(text);
        EXPECT_TRUE(is_clean(escaped)) << escaped;
        EXPECT_LE(escaped.size(), 4 * text.size());
        // What needed nothing is as it was; what has no backslash left was not changed either.
        EXPECT_EQ(escaped == text, escaped.find('\\') == std::string::npos) << escaped;
        return true;
      });
}

template <typename T>
bool is_number(std::string_view text) {
  const auto value = number<T>(text);
  if (!value) return false;
  EXPECT_EQ(text.find_first_not_of("-0123456789"), std::string_view::npos) << text;
  EXPECT_EQ(number<T>(std::to_string(*value)), value);
  return true;
}

TEST(FuzzNumber, WhatItTakesIsAllDigitsAndReadsTheSameAgain) {
  fuzz({"0", "7", "200"}, [](std::string_view text) {
    const bool large = is_number<int64_t>(text);
    const bool small = is_number<int8_t>(text);
    EXPECT_TRUE(large || !small) << text;  // what fits a byte fits more
    return is_number<uint64_t>(text) || large;
  });
}

TEST(FuzzKeyed, WhatItFindsStandsInTheText) {
  fuzz({"populated 1\nfrozen 0\n", "usage_usec 12\npopulated 18446744073709551615\n"},
       [](std::string_view text) {
         const auto value = keyed(text, "populated");
         if (!value) return false;
         EXPECT_NE(text.find("populated "), std::string_view::npos);
         EXPECT_EQ(keyed("populated " + std::to_string(*value), "populated"), value);
         return true;
       });
}

}  // namespace
}  // namespace corral::base
