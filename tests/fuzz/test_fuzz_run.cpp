#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fuzz.h"
#include "run/record.h"

namespace corral::run {
namespace {

using fuzz::fuzz;

constexpr base::Moment kMoment{1'790'000'000'000'000, 70'000'000};

Record record() {
  return {.id = *RunId::parse("r42"),
          .invocation = *Invocation::parse("0123456789abcdef0123456789abcdef"),
          .owner = "engine",
          .owner_uid = 1000,
          .token = "caf\u00e9",
          .description = "nightly \"build\"",
          .labels = {{"team", "a"}, {"", "\n"}},
          .policy = {},
          .boot_id = "f0f0",
          .cgroup_id = 18446744073709551615U,
          .start = kMoment,
          .containment = Containment::enforced};
}

Status status() {
  Status status;
  Report& report = status.report;
  report.id = "r42";
  report.invocation = record().invocation.text();
  report.state = State::ended;
  report.result = RunResult::exit_code;
  report.driver_exit = DriverExit::exited;
  report.driver_status = -2147483647 - 1;
  report.start = report.end = kMoment;
  report.memory_peak = 1;
  report.leaks.resize(2);
  report.leaks[1].pid = 4294967295U;
  report.leaks[1].uid = 0;
  report.leaks[1].argv = {"node", "server.js", ""};
  report.leaks[1].listening = {"tcp:127.0.0.1:5173"};
  status.parent = DirectoryName{record().id, record().invocation};
  return status;
}

// What can be read can be written, and is the same when it is read again.
template <typename T>
auto reads_the_same_again(Result<T> (*parse)(std::string_view)) {
  return [parse](std::string_view text) {
    const Result<T> first = parse(text);
    if (!first) {
      EXPECT_NE(first.error().message, "");
      EXPECT_TRUE(fuzz::is_clean(first.error().message)) << first.error().message;
      return false;
    }
    const Result<T> second = parse(to_json(*first));
    EXPECT_TRUE(second && *second == *first) << to_json(*first);
    return true;
  };
}

TEST(FuzzRecord, ReadsTheSameAgain) {
  fuzz({to_json(record())}, reads_the_same_again(parse_record));
}

TEST(FuzzEnding, ReadsTheSameAgain) {
  const Ending ending{
      EndReason::requested, "close-out", "uid 0, pid 17", true, true, true, kMoment, 3, 4};
  fuzz({to_json(ending), to_json(Ending())}, reads_the_same_again(parse_ending));
}

TEST(FuzzReport, ReadsTheSameAgain) {
  Status empty;
  empty.report.id = "x";
  empty.report.invocation = record().invocation.text();
  fuzz({to_json(status()), to_json(empty)}, reads_the_same_again(parse_status));
}

TEST(FuzzMembers, ReadsTheSameAgain) {
  fuzz({to_json(Members{{17, 4000}, {16, 18446744073709551615U}})},
       reads_the_same_again(parse_members));
}

TEST(FuzzExit, ReadsTheSameAgainAndIsAnExit) {
  fuzz({to_json(Exit{DriverExit::exited, 255, kMoment}), to_json(Exit{DriverExit::dumped, 11, {}})},
       [](std::string_view text) {
         if (!reads_the_same_again(parse_exit)(text)) return false;
         const Result<Exit> exit = parse_exit(text);
         EXPECT_TRUE(exit->status >= 0 && exit->status <= 255) << exit->status;
         EXPECT_NE(exit->exit, DriverExit::unknown);
         return true;
       });
}

}  // namespace
}  // namespace corral::run
