#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "run/words.h"

namespace corral::run {
namespace {

// The words of an enum are the interface: in the order of the enumerators, each there and back.
template <typename Enum>
void expect_words(Enum last, const std::vector<std::string_view>& words) {
  ASSERT_EQ(static_cast<size_t>(last) + 1, words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    EXPECT_EQ(word(static_cast<Enum>(i)), words[i]);
    EXPECT_EQ(parse_word<Enum>(words[i]), static_cast<Enum>(i)) << words[i];
  }
  for (const std::string_view wrong : {"no such word", " ", "Kill", "kill ", "exit_code"})
    EXPECT_FALSE(parse_word<Enum>(wrong)) << wrong;
}

TEST(Words, OfStateAreTheInterface) {
  expect_words(State::ended, {"starting", "running", "ending", "holding", "ended"});
}

TEST(Words, OfDriverExitAreTheInterface) {
  expect_words(DriverExit::unknown, {"", "exited", "killed", "dumped", "unknown"});
}

TEST(Words, OfRunResultAreTheInterface) {
  expect_words(RunResult::unknown, {"", "success", "exit-code", "signal", "core-dump", "oom-kill",
                                    "start-failed", "unknown"});
}

TEST(Words, OfEndReasonAreTheInterface) {
  expect_words(EndReason::lost, {"", "driver-exited", "requested", "deadline", "lease-lost",
                                 "parent-ended", "reboot", "lost"});
}

TEST(Words, OfOutcomeAreTheInterface) {
  expect_words(Outcome::escaped,
               {"left", "exited", "term", "kill", "frozen", "kept", "stuck", "escaped"});
}

TEST(Words, OfDetachedAreTheInterface) {
  expect_words(Detached::no, {"own-session", "own-group", "orphaned", "no"});
}

TEST(Words, OfContainmentAreTheInterface) {
  expect_words(Containment::adopted, {"enforced", "cooperative", "adopted"});
}

TEST(Words, OfOnDriverExitAreTheInterface) {
  expect_words(OnDriverExit::report, {"kill", "freeze", "report"});
}

TEST(Words, OfEnforcementAreTheInterface) {
  expect_words(Enforcement::observe, {"enforce", "observe"});
}

TEST(Words, OfKindAreTheInterface) {
  expect_words(Kind::kept, {"driver", "kept"});
}

}  // namespace
}  // namespace corral::run
