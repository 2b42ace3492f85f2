#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/environ.h"

namespace corral::cgroup {
namespace {

using namespace std::string_view_literals;

bool holds(std::string_view environment, const std::vector<std::string>& entries,
           size_t piece = SIZE_MAX) {
  EnvironSearch search(entries);
  for (size_t at = 0; at < environment.size(); at += std::min(piece, environment.size() - at))
    search.feed(environment.substr(at, piece));
  search.end();
  return search.found();
}

TEST(EnvironSearch, FindsWholeEntriesWhereverTheyStand) {
  for (const size_t piece : {1U, 2U, 3U, 5U, 64U}) {
    EXPECT_TRUE(holds("A=1\0B=2\0C=3\0"sv, {"A=1"}, piece));
    EXPECT_TRUE(holds("A=1\0B=2\0C=3\0"sv, {"C=3", "B=2"}, piece));
    EXPECT_TRUE(holds("A=1\0B=2"sv, {"B=2"}, piece)) << "the end ends an entry";
    EXPECT_TRUE(holds("\0\0A=1\0"sv, {"A=1"}, piece));
  }
}

TEST(EnvironSearch, TakesNoPartForTheWhole) {
  for (const size_t piece : {1U, 2U, 3U, 5U, 64U}) {
    EXPECT_FALSE(holds("A=12\0"sv, {"A=1"}, piece));
    EXPECT_FALSE(holds("A=\0"sv, {"A=1"}, piece));
    EXPECT_FALSE(holds("XA=1\0"sv, {"A=1"}, piece));
    EXPECT_FALSE(holds("X=A=1\0Y=\nA=1\n\0"sv, {"A=1"}, piece));
    EXPECT_FALSE(holds("A=\0001\0"sv, {"A=1"}, piece));
    EXPECT_FALSE(holds("A=1\0"sv, {"A=1", "B=2"}, piece));
    EXPECT_FALSE(holds(""sv, {"A=1"}, piece));
  }
}

TEST(EnvironSearch, AnEntryCountsOnceItIsEnded) {
  EnvironSearch search({"A=1"});
  search.feed("A=1");
  EXPECT_FALSE(search.found()) << "A=12 may be on its way";
  search.feed("\0"sv);
  EXPECT_TRUE(search.found());
  search.feed("A=2\0"sv);
  EXPECT_TRUE(search.found());
}

// Against the plain way: all of it at once, cut at the NULs. Few letters, so that much is alike.
RC_GTEST_PROP(EnvironSearch, SaysTheSameInWhateverPiecesItComes, ()) {
  const auto letters = [](const std::string& alphabet, int most) {
    std::string text;
    for (int i = *rc::gen::inRange(0, most); i > 0; --i)
      text += alphabet[*rc::gen::inRange<size_t>(0, alphabet.size())];
    return text;
  };
  const std::string environment = letters(std::string("A=1\0", 4), 40);
  const std::vector<std::string> sought = {"A=" + letters("A=1", 3), "A=" + letters("A=1", 3)};
  std::vector<std::string> entries(1);
  for (const char c : environment)
    if (c == '\0')
      entries.emplace_back();
    else
      entries.back() += c;
  const bool expected = std::all_of(sought.begin(), sought.end(), [&](const std::string& one) {
    return std::find(entries.begin(), entries.end(), one) != entries.end();
  });
  RC_ASSERT(holds(environment, sought, *rc::gen::inRange<size_t>(1, 45)) == expected);
}

TEST(EnvironSearch, FindsAVariableByItsNameInPiecesOfAnySize) {
  const std::string text("A=1\0XCORRAL=2\0CORRALS=3\0CORRAL=4\0", 32);
  for (size_t size = 1; size <= text.size(); ++size) {
    EnvironSearch search({"CORRAL="}, true), other({"ORRAL="}, true);
    for (size_t at = 0; at < text.size(); at += size) {
      search.feed(std::string_view(text).substr(at, size));
      other.feed(std::string_view(text).substr(at, size));
    }
    EXPECT_TRUE(search.found()) << size;
    EXPECT_FALSE(other.found()) << size;
  }
}

}  // namespace
}  // namespace corral::cgroup
