#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "run/record.h"
#include "run/report.h"
#include "run_generators.h"

namespace corral::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Who, IsNamedByAllThatIsKnown) {
  EXPECT_EQ((Who{0, 17, "busctl", "foo.service"}.text()),
            "uid 0, pid 17 (busctl), unit foo.service");
  EXPECT_EQ((Who{1000, 17, "busctl", ""}.text()), "uid 1000, pid 17 (busctl)");
  EXPECT_EQ((Who{1000, 17, "", ""}.text()), "uid 1000, pid 17");
}

TEST(Who, IsNobodyWithoutAPid) {
  EXPECT_EQ((Who{1000, 0, "busctl", "foo.service"}.text()), "");
}

TEST(ResultOf, IsTheDriversOutcomeAlone) {
  EXPECT_EQ(result_of(DriverExit::none, 0, false), RunResult::none);
  EXPECT_EQ(result_of(DriverExit::exited, 0, false), RunResult::success);
  EXPECT_EQ(result_of(DriverExit::exited, 1, false), RunResult::exit_code);
  EXPECT_EQ(result_of(DriverExit::killed, SIGTERM, false), RunResult::signal);
  EXPECT_EQ(result_of(DriverExit::killed, SIGKILL, false), RunResult::signal);
  EXPECT_EQ(result_of(DriverExit::dumped, SIGSEGV, false), RunResult::core_dump);
  EXPECT_EQ(result_of(DriverExit::unknown, 0, false), RunResult::unknown);
}

TEST(ResultOf, BlamesTheOomKillerForItsOwnSignalOnly) {
  EXPECT_EQ(result_of(DriverExit::killed, SIGKILL, true), RunResult::oom_kill);
  EXPECT_EQ(result_of(DriverExit::killed, SIGTERM, true), RunResult::signal);
  EXPECT_EQ(result_of(DriverExit::exited, 0, true), RunResult::success);
  EXPECT_EQ(result_of(DriverExit::exited, 137, true), RunResult::exit_code);
  EXPECT_EQ(result_of(DriverExit::dumped, SIGSEGV, true), RunResult::core_dump);
}

Process leak(uint32_t pid, std::optional<uint64_t> rss, bool listens = false) {
  Process process;
  process.pid = pid;
  process.rss = rss;
  if (listens) process.listening = {"tcp:127.0.0.1:5173"};
  return process;
}

std::vector<uint32_t> pids(const Report& report) {
  std::vector<uint32_t> numbers;
  for (const Process& process : report.leaks) numbers.push_back(process.pid);
  return numbers;
}

TEST(RankAndCap, PutsListenersFirstThenTheLargest) {
  Report report;
  report.leaks = {leak(1, 10), leak(5, std::nullopt), leak(2, 900), leak(4, 10, true),
                  leak(3, 20, true)};
  rank_and_cap(report);
  EXPECT_THAT(pids(report), ElementsAre(3, 4, 2, 1, 5));
  EXPECT_EQ(report.leaks_omitted, 0U);
}

TEST(RankAndCap, OrdersEqualOnesByPid) {
  Report report;
  report.leaks = {leak(9, 10), leak(7, 10), leak(8, 10)};
  rank_and_cap(report);
  EXPECT_THAT(pids(report), ElementsAre(7, 8, 9));
}

TEST(RankAndCap, ListsTheFirst256OfTenThousandAndCountsTheOthers) {
  Report report;
  report.leaks_found = 10'000;
  for (uint32_t pid = 1; pid <= 10'000; ++pid) report.leaks.push_back(leak(pid, pid, pid == 1));
  rank_and_cap(report);
  ASSERT_EQ(report.leaks.size(), kListedLeaks);
  EXPECT_EQ(report.leaks[0].pid, 1U);
  EXPECT_EQ(report.leaks[1].pid, 10'000U);
  EXPECT_EQ(report.leaks_omitted, 10'000U - kListedLeaks);

  rank_and_cap(report);
  EXPECT_EQ(report.leaks.size(), kListedLeaks);
  EXPECT_EQ(report.leaks_omitted, report.leaks_found - kListedLeaks);
}

TEST(RankAndCap, LeavesAReportWithoutLeaksAsItIs) {
  Report report;
  rank_and_cap(report);
  EXPECT_EQ(report, Report());
}

Report good_report() {
  Report report;
  report.id = "r42";
  report.invocation = "0123456789abcdef0123456789abcdef";
  report.token = "t";
  report.state = State::ended;
  report.result = RunResult::exit_code;
  report.leaks = {leak(7, 4096, true)};
  return report;
}

nlohmann::json as_json(const Report& report) {
  return nlohmann::json::parse(to_json(report));
}

TEST(ReportJson, UsesTheWordsOfTheInterface) {
  const nlohmann::json json = as_json(good_report());
  EXPECT_EQ(json.at("Version"), 1);
  EXPECT_EQ(json.at("Token"), "t");
  EXPECT_EQ(json.at("Id"), "r42");
  EXPECT_EQ(json.at("Result"), "exit-code");
  EXPECT_EQ(json.at("DriverExit"), "");
  EXPECT_EQ(json.at("Leaks").at(0).at("Listening").at(0), "tcp:127.0.0.1:5173");
  EXPECT_EQ(json.at("Leaks").at(0).at("RSS"), 4096);
}

TEST(ReportJson, LeavesOutWhatWasNotMeasured) {
  const nlohmann::json json = as_json(good_report());
  EXPECT_FALSE(json.contains("MemoryPeak"));
  EXPECT_FALSE(json.at("Leaks").at(0).contains("UID"));
}

RC_GTEST_PROP(ReportJson, IsTheSameReportOnTheWayBack, ()) {
  const Report report = any_report();
  const auto parsed = parse_report(to_json(report));
  if (!parsed) RC_FAIL(parsed.error().message);
  RC_ASSERT(*parsed == report);
}

TEST(ReportJson, IsWrittenWhateverBytesAFieldHolds) {
  Report report = good_report();
  report.end_message = "caf\xe9 \xff";
  report.leaks[0].argv = {std::string("\0\xc0\x80", 3)};
  const auto parsed = parse_report(to_json(report));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->end_message, "caf\ufffd \ufffd");
}

// What parse_report() says to the good report with `value` at `pointer`.
std::string said_of(const std::string& pointer, const nlohmann::json& value) {
  nlohmann::json json = as_json(good_report());
  json[nlohmann::json::json_pointer(pointer)] = value;
  const auto parsed = parse_report(json.dump());
  return parsed ? "good" : parsed.error().message;
}

TEST(ReportJson, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(said_of("/Version", 2), "report: Version: 2, and this program reads 1 only");
  EXPECT_THAT(said_of("/Id", "../x"), HasSubstr("report: Id: "));
  EXPECT_THAT(said_of("/Invocation", "7"), HasSubstr("report: Invocation: "));
  EXPECT_EQ(said_of("/State", "gone"), "report: State: \"gone\": unknown word");
  EXPECT_EQ(said_of("/OwnerUID", -1), "report: OwnerUID: not a number from 0 to 4294967295");
  EXPECT_EQ(said_of("/SnapshotExact", 1), "report: SnapshotExact: neither true nor false");
  EXPECT_EQ(said_of("/MemoryPeak", nullptr),
            "report: MemoryPeak: not a number from 0 to 18446744073709551615");
  EXPECT_EQ(said_of("/DriverStatus", 2147483648),
            "report: DriverStatus: not a number from -2147483648 to 2147483647");
  EXPECT_EQ(said_of("/Leaks", "none"), "report: Leaks: not a list");
  EXPECT_EQ(said_of("/Leaks/0", 7), "report: Leaks: item 0 is not an object");
  EXPECT_EQ(said_of("/Leaks/0/PID", "7"),
            "report: Leaks[0].PID: not a number from 0 to 4294967295");
  EXPECT_EQ(said_of("/Leaks/0/Argv", {"x", 1}), "report: Leaks[0].Argv: item 1 is not a string");
}

TEST(ReportJson, MissesEachFieldThatIsAlwaysThere) {
  const nlohmann::json whole = as_json(good_report());
  for (const auto& field : whole.items()) {
    nlohmann::json json = whole;
    json.erase(field.key());
    const auto parsed = parse_report(json.dump());
    ASSERT_FALSE(parsed) << field.key();
    EXPECT_EQ(parsed.error().message, "report: " + field.key() + ": missing");
  }
}

TEST(ReportJson, PassesOverKeysOfALaterTime) {
  EXPECT_EQ(said_of("/Colour", "blue"), "good");
  EXPECT_EQ(said_of("/Leaks/0/Colour", "blue"), "good");
}

TEST(ReportJson, IsRefusedWhereverItIsTorn) {
  const std::string text = to_json(good_report());
  for (size_t length = 0; length < text.size(); ++length)
    ASSERT_FALSE(parse_report(text.substr(0, length))) << length;
}

}  // namespace
}  // namespace corral::run
