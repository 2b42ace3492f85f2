#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.h"
#include "cli/exit_status.h"

namespace corral::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using testing::ElementsAre;
using testing::HasSubstr;

using Words = std::vector<std::string>;

Surroundings surroundings() {
  return {1000, {"PATH=/bin"}, "/somewhere", "run-01234567"};
}

Arguments parsed(const Words& words) {
  auto result = parse_arguments(words, surroundings());
  if (const auto* leave = std::get_if<Leave>(&result)) {
    ADD_FAILURE() << leave->text;
    return {};
  }
  return std::get<Arguments>(std::move(result));
}

Leave refused(const Words& words) {
  auto result = parse_arguments(words, surroundings());
  if (const auto* leave = std::get_if<Leave>(&result)) return *leave;
  return {-1, "was accepted"};
}

TEST(PolicyArguments, AreOptionsOfARun) {
  const auto start =
      parsed({"run", "--on-driver-exit=freeze", "--keep=*/a", "--keep", "*/b", "--max-time=1h",
              "--hold-max=infinity", "--parent=p", "--enforcement=observe", "--", "true"})
          .start;
  EXPECT_EQ(start.on_driver_exit, "freeze");
  EXPECT_THAT(start.keep, ElementsAre("*/a", "*/b"));
  EXPECT_EQ(start.runtime_max, hours{1});
  EXPECT_EQ(start.hold_max, kNoLimit);
  EXPECT_EQ(start.parent, "p");
  EXPECT_EQ(start.enforcement, "observe");
}

TEST(PolicyArguments, TakeAnEmptyTextForOne) {
  const auto start = parsed({"run", "--parent=", "--owner=", "--", "echo", "--parent="}).start;
  EXPECT_EQ(start.parent, "");
  EXPECT_EQ(start.owner, "");
  EXPECT_THAT(start.argv, ElementsAre("echo", "--parent="));
  EXPECT_FALSE(parsed({"run", "--", "true"}).start.parent);
}

TEST(PolicyArguments, WithoutAValueTakeNoOtherWordForOne) {
  EXPECT_EQ(refused({"run", "--report", "--", "true"}).status, kOwnFailure);
  EXPECT_THAT(refused({"run", "--owner", "--", "true"}).text, HasSubstr("--owner: needs a value"));
  EXPECT_THAT(refused({"run", "--id=", "--", "true"}).text, HasSubstr("\"\" is not"));
  EXPECT_THAT(refused({"list", "--bus", "--"}).text, HasSubstr("--bus: needs a value"));
  const auto start = parsed({"run", "--description=", "--", "sh", "--", "--x="}).start;
  EXPECT_THAT(start.argv, ElementsAre("sh", "--", "--x="));
}

TEST(PolicyArguments, OfARunAreRefusedWithTheirName) {
  EXPECT_THAT(refused({"run", "--on-driver-exit=x", "--", "x"}).text,
              HasSubstr("\"x\" is not kill, freeze or report"));
  EXPECT_THAT(refused({"run", "--max-time=x", "--", "x"}).text, HasSubstr("or infinity"));
  EXPECT_THAT(refused({"run", "--hold-max=0", "--", "x"}).text, HasSubstr("\"0\" is not"));
  EXPECT_THAT(refused({"adopt", "--settle=2h", "10"}).text, HasSubstr("of at most 1h"));
  EXPECT_THAT(refused({"end", "--all", "--grace=21s"}).text, HasSubstr("of at most 20s"));
  EXPECT_EQ(refused({"run", "--fail-on-leak=", "x"}).status, kOwnFailure);
  EXPECT_THAT(refused({"run", "--embedded", "--keep=*", "--", "x"}).text, HasSubstr("stays"));
  EXPECT_EQ(refused({"run", "--enforcement=x", "--", "x"}).status, kOwnFailure);
}

TEST(PolicyArguments, ChooseRunsToEnd) {
  const auto arguments =
      parsed({"end", "--held", "--older-than=1min", "--owner=o", "--label=k", "--dry-run"});
  EXPECT_TRUE(arguments.names.empty());
  EXPECT_EQ(arguments.ends.state, "holding");
  EXPECT_EQ(arguments.ends.older_than, minutes{1});
  EXPECT_EQ(arguments.ends.owner, "o");
  EXPECT_EQ(arguments.ends.label, "k");
  EXPECT_TRUE(arguments.ends.dry_run);
  EXPECT_FALSE(parsed({"end", "--all"}).ends.state);
}

TEST(PolicyArguments, OfAnEndDoNotContradictEachOther) {
  EXPECT_THAT(refused({"end"}).text, HasSubstr("needs an ID"));
  EXPECT_THAT(refused({"end", "--dry-run"}).text, HasSubstr("needs an ID"));
  EXPECT_THAT(refused({"end", "r", "--held"}).text, HasSubstr("without one"));
  EXPECT_THAT(refused({"end", "r", "--dry-run"}).text, HasSubstr("without one"));
  EXPECT_THAT(refused({"end", "--all", "--held"}).text, HasSubstr("excludes"));
  EXPECT_THAT(refused({"end", "--all", "--no-block"}).text, HasSubstr("need an ID"));
}

TEST(PolicyArguments, OfALeaseLeaveItsCommandAlone) {
  const auto arguments = parsed({"lease", "r", "--why=w", "--", "end", "--all", "\xff"});
  EXPECT_EQ(arguments.command, Command::lease);
  EXPECT_THAT(arguments.names, ElementsAre("r"));
  EXPECT_THAT(arguments.lease.argv, ElementsAre("end", "--all", "\xff"));
  EXPECT_EQ(arguments.lease.who, "end --all '\\xff'");
  EXPECT_EQ(arguments.lease.why, "w");
}

TEST(PolicyArguments, OfALeaseAreOneOfFour) {
  EXPECT_EQ(parsed({"lease", "r", "--ttl=10min"}).lease.ttl, minutes{10});
  EXPECT_TRUE(parsed({"lease", "--list"}).lease.list);
  EXPECT_THAT(refused({"lease", "r"}).text, HasSubstr("needs one of"));
  EXPECT_THAT(refused({"lease", "r", "--ttl=1s", "--drop"}).text, HasSubstr("needs one of"));
  EXPECT_THAT(refused({"lease", "r", "--ttl=0"}).text, HasSubstr("--drop"));
  EXPECT_THAT(refused({"lease", "--drop"}).text, HasSubstr("ID"));
  EXPECT_EQ(refused({"lease", "r"}).status, kOwnFailure);
}

TEST(PolicyArguments, TellIdsFromPids) {
  const auto arguments = parsed({"release", "r", "10", "11"});
  EXPECT_THAT(arguments.names, ElementsAre("r"));
  EXPECT_THAT(arguments.pids, ElementsAre(10u, 11u));
  const auto adopt = parsed({"adopt", "10", "--owner=o"});
  EXPECT_EQ(adopt.start.id, "run-01234567");
  EXPECT_THAT(adopt.pids, ElementsAre(10u));
  EXPECT_THAT(refused({"release", "r", "x"}).text, HasSubstr("\"x\" is not a process id"));
  EXPECT_THAT(refused({"adopt", "0"}).text, HasSubstr("\"0\" is not a process id"));
  EXPECT_THAT(refused({"release", "r"}).text, HasSubstr("PID"));
}

TEST(PolicyArguments, ChangeSomething) {
  const auto change = parsed({"set", "r", "--owner=", "--max-time=infinity"}).change;
  EXPECT_EQ(change.owner, "");
  EXPECT_EQ(change.runtime_max, kNoLimit);
  EXPECT_FALSE(change.description);
  EXPECT_THAT(refused({"set", "r"}).text, HasSubstr("needs one of"));
  EXPECT_EQ(parsed({"enforcement", "observe", "--run=r"}).enforcement, "observe");
  EXPECT_FALSE(parsed({"enforcement"}).enforcement);
  EXPECT_THAT(refused({"enforcement", "x"}).text, HasSubstr("enforce or observe"));
  EXPECT_EQ(parsed({"wait", "r", "--until=ended"}).until, "ended");
}

TEST(CommandWords, ArePairedWithTheirCommands) {
  EXPECT_EQ(word(Command::run), "run");
  EXPECT_EQ(word(Command::config), "config");
  EXPECT_EQ(word(Command::end), "end");
  EXPECT_EQ(word(Command::enforcement), "enforcement");
}

}  // namespace
}  // namespace corral::cli
