#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run/record.h"
#include "run/report.h"
#include "run_generators.h"

namespace corral::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

std::string json_of(const Report& report) {
  Status status;
  status.report = report;
  return to_json(status);
}

TEST(ReportJson, UsesTheWordsOfTheInterface) {
  const std::string text = json_of(good_report());
  for (const char* part :
       {R"("Version":1)", R"("Token":"t")", R"("Id":"r42")", R"("Result":"exit-code")",
        R"("DriverExit":"")", R"("Listening":["tcp:127.0.0.1:5173"])", R"("RSS":4096)"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(ReportJson, LeavesOutWhatWasNotMeasured) {
  const std::string text = json_of(good_report());
  EXPECT_THAT(text, Not(HasSubstr("MemoryPeak")));
  EXPECT_THAT(text, Not(HasSubstr("\"UID\"")));
}

RC_GTEST_PROP(ReportJson, IsTheSameReportOnTheWayBack, ()) {
  const Report report = any_report();
  const auto parsed = parse_status(json_of(report));
  if (!parsed) RC_FAIL(parsed.error().message);
  RC_ASSERT(parsed->report == report);
}

TEST(ReportJson, HasWhatElseTheObjectShows) {
  Status status;
  status.report = good_report();
  status.description = "nightly";
  status.labels = {{"team", "a"}};
  status.policy.grace = std::chrono::microseconds{7};
  status.control_group_id = UINT64_MAX;
  status.parent =
      DirectoryName{*RunId::parse("outer"), *Invocation::parse("0123456789abcdef0123456789abcdef")};
  const auto parsed = parse_status(to_json(status));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, status);
}

TEST(ReportJson, IsWrittenWhateverBytesAFieldHolds) {
  Report report = good_report();
  report.end_message = "caf\xe9 \xff";
  report.leaks[0].argv = {std::string("\0\xc0\x80", 3)};
  const auto parsed = parse_status(json_of(report));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->report.end_message, "caf\ufffd \ufffd");
}

// What parse_status() says to the good report with the JSON `value` at `pointer`.
std::string said_of(const std::string& pointer, const std::string& value) {
  auto json = nlohmann::json::parse(json_of(good_report()));
  json[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
  const auto parsed = parse_status(json.dump());
  return parsed ? "good" : parsed.error().message;
}

TEST(ReportJson, SaysWhatIsWrongAndWhere) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"/Version", "2", "Version: 2, and this program reads 1 only"},
      {"/Id", R"("../x")", "Id: no run id"},
      {"/Invocation", R"("7")", "Invocation: no invocation"},
      {"/Parent", R"("../x")", "Parent: names no run"},
      {"/State", R"("gone")", "State: \"gone\": unknown word"},
      {"/OwnerUID", "-1", "OwnerUID: not a number from 0 to 4294967295"},
      {"/SnapshotExact", "1", "SnapshotExact: neither true nor false"},
      {"/MemoryPeak", "null", "MemoryPeak: not a number from 0 to 18446744073709551615"},
      {"/DriverStatus", "2147483648", "DriverStatus: not a number from -2147483648 to 2147483647"},
      {"/DriverStatus", "-2147483649", "DriverStatus: not a number from -2147483648 to 2147483647"},
      {"/Leaks", R"("none")", "Leaks: not a list"},
      {"/Leaks/0", "7", "Leaks: item 0 is not an object"},
      {"/Leaks/0/PID", R"("7")", "Leaks[0].PID: not a number from 0 to 4294967295"},
      {"/Leaks/0/Argv", R"(["x",1])", "Leaks[0].Argv: item 1 is not a string"}};
  for (const auto& [pointer, value, said] : cases)
    EXPECT_EQ(said_of(pointer, value), "report: " + said);
}

TEST(ReportJson, MissesEachFieldThatIsAlwaysThere) {
  const auto whole = nlohmann::json::parse(json_of(good_report()));
  for (const auto& field : whole.items()) {
    auto json = whole;
    json.erase(field.key());
    const auto parsed = parse_status(json.dump());
    ASSERT_FALSE(parsed) << field.key();
    EXPECT_EQ(parsed.error().message, "report: " + field.key() + ": missing");
  }
}

TEST(ReportJson, PassesOverKeysOfALaterTime) {
  EXPECT_EQ(said_of("/Colour", R"("blue")"), "good");
  EXPECT_EQ(said_of("/Leaks/0/Colour", R"("blue")"), "good");
}

TEST(ReportJson, IsRefusedWhereverItIsTorn) {
  const std::string text = json_of(good_report());
  for (size_t length = 0; length < text.size(); ++length)
    ASSERT_FALSE(parse_status(text.substr(0, length))) << length;
}

}  // namespace
}  // namespace corral::run
