#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/unique_fd.h"
#include "cli/decode.h"
#include "cli/embedded_child.h"
#include "cli/report_text.h"
#include "cli/status_text.h"
#include "run/json_fields.h"

namespace corral::cli {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

run::Process leak(uint32_t pid, std::string port, run::Outcome outcome) {
  run::Process process;
  process.pid = pid;
  process.argv = {"node", "server.js"};
  process.age_usec = 2'100'000;
  process.rss = 389ULL << 20;
  process.detached = run::Detached::own_session;
  process.listening = {std::move(port)};
  process.outcome = outcome;
  return process;
}

run::Report ended() {
  run::Report report;
  report.id = "demo";
  report.invocation = "9f86d081884c7d659a2feaa0c55ad015";
  report.state = run::State::ended;
  report.result = run::RunResult::success;
  report.end_reason = run::EndReason::driver_exited;
  report.driver_exit = run::DriverExit::exited;
  report.wall_usec = 1'200'000;
  report.time_to_empty_usec = 5'000'000;
  return report;
}

TEST(ReportText, NamesEachLeakAndProvesThatNothingIsLeft) {
  run::Report report = ended();
  report.leaks_found = 2;
  report.terminated = report.killed = 1;
  report.leaks = {leak(10, "tcp:127.0.0.1:5173", run::Outcome::term),
                  leak(11, "tcp:127.0.0.1:80", run::Outcome::kill)};
  EXPECT_EQ(report_text(report, {}),
            "Run demo (9f86d081…) ended: driver exited with 0 after 1.2s; 2 processes had outlived "
            "it.\n"
            "PID  COMMAND          AGE  MEMORY  DETACHED     LISTENING           OUTCOME\n"
            " 10  node server.js  2.1s    389M  own-session  tcp:127.0.0.1:5173  term\n"
            " 11  node server.js  2.1s    389M  own-session  tcp:127.0.0.1:80    kill\n"
            "1 went after SIGTERM, 1 was killed; nothing is left (proven in 5.0s).\n");
}

TEST(ReportText, IsShortForACleanRun) {
  EXPECT_EQ(
      report_text(ended(), {}),
      "Run demo (9f86d081…) ended: driver exited with 0 after 1.2s; nothing had outlived it.\n"
      "Nothing is left (proven in 5.0s).\n");
}

TEST(ReportText, NeverSaysThatNothingIsLeftWhereSomethingIs) {
  run::Report report = ended();
  report.leaks_found = report.stuck = 1;
  EXPECT_THAT(report_text(report, {}), Not(HasSubstr("is left")));
  EXPECT_THAT(report_text(report, {}), HasSubstr("1 was killed and is still there"));
}

TEST(ReportText, ClaimsNothingThatWasNotSeen) {
  run::Report report = ended();
  report.end_reason = run::EndReason::reboot;
  report.driver_exit = run::DriverExit::unknown;
  report.unknown_reason = "no record";
  report.time_to_empty_usec.reset();
  report.wall_usec.reset();
  EXPECT_EQ(report_text(report, {}),
            "Run demo (9f86d081…) ended with a reboot: driver's exit was not seen (no record).\n");
}

TEST(ReportText, SaysWhoAskedForTheEndAndWhy) {
  run::Report report = ended();
  report.end_reason = run::EndReason::requested;
  report.ended_by = "uid 0, pid 17 (busctl)";
  report.end_message = "too\033 slow";
  report.driver_exit = run::DriverExit::killed;
  report.driver_status = SIGTERM;
  report.leaks_found = 1;
  EXPECT_THAT(report_text(report, {}),
              StartsWith("Run demo (9f86d081…) ended on request of uid 0, pid 17 (busctl) "
                         "(\"too\\x1b slow\"): driver was killed by SIGTERM after 1.2s; 1 other "
                         "process went with it.\n"));
}

TEST(ReportText, SaysThatALeaseWasLostOrAParentEnded) {
  run::Report report = ended();
  report.leaks_found = 2;
  report.end_reason = run::EndReason::lease_lost;
  EXPECT_THAT(report_text(report, {}), StartsWith("Run demo (9f86d081…) ended because its lease "
                                                  "was lost (lease-lost): driver"));
  report.end_message = "the process that opened the run is gone";
  EXPECT_THAT(report_text(report, {}),
              StartsWith("Run demo (9f86d081…) ended because the process that opened the run is "
                         "gone (lease-lost): driver exited with 0 after 1.2s; 2 other processes "));
  report.end_reason = run::EndReason::parent_ended;
  EXPECT_THAT(report_text(report, {}),
              StartsWith("Run demo (9f86d081…) ended with the run that it was nested in "
                         "(parent-ended): driver"));
}

TEST(ReportText, CountsWhatIsNotListed) {
  run::Report report = ended();
  report.leaks_found = 10'000;
  report.leaks_omitted = 9'999;
  report.leaks = {leak(10, "", run::Outcome::term)};
  EXPECT_THAT(report_text(report, {}), HasSubstr("\n… and 9999 more\n"));
}

TEST(ReportText, OfAFailedStartNamesTheStep) {
  run::Report report = ended();
  report.result = run::RunResult::start_failed;
  report.driver_exit = run::DriverExit::none;
  report.end_message = "exec \"x\": No such file or directory";
  EXPECT_THAT(report_text(report, {}),
              HasSubstr("ended: driver did not start: exec \"x\": No such file or directory.\n"));
}

TEST(ReportText, OfALiveRunSaysHowFarItGot) {
  run::Report report = ended();
  report.state = run::State::running;
  report.end_reason = run::EndReason::none;
  report.driver_exit = run::DriverExit::none;
  EXPECT_EQ(report_text(report, {}), "Run demo (9f86d081…) is running: driver runs.\n");
}

run::Status status() {
  run::Status s;
  s.report = ended();
  s.report.state = run::State::running;
  s.report.result = run::RunResult::none;
  s.report.driver_exit = run::DriverExit::none;
  s.report.end_reason = run::EndReason::none;
  s.report.start.realtime_usec = 1'700'000'000'000'000;
  s.description = "a build";
  s.driver_pid = 10;
  s.labels = {{"k", "v"}};
  s.control_group = "/corral/runs/demo";
  return s;
}

TEST(StatusText, HasTheTreeAtItsEnd) {
  const std::string text = status_text(status(), {leak(10, "tcp:127.0.0.1:80", run::Outcome::left)},
                                       1'700'000'003'000'000, {});
  EXPECT_THAT(text, StartsWith("● demo - a build\n"));
  EXPECT_THAT(text, HasSubstr("State: running since "));
  EXPECT_THAT(text, HasSubstr("; 3.0s ago\n"));
  EXPECT_THAT(text, HasSubstr("Labels: k=v\n"));
  EXPECT_THAT(text, HasSubstr("Driver: 10 (runs)\n"));
  EXPECT_THAT(text, HasSubstr("Memory: 389M resident\n"));
  EXPECT_THAT(text, EndsWith("10 node server.js  (own-session)  tcp:127.0.0.1:80\n"));
}

TEST(StatusText, SaysWhatIsOutOfTheOrdinary) {
  run::Status s = status();
  EXPECT_TRUE(notes_of(s, 0).empty());
  s.report.kind = run::Kind::kept;
  s.frozen = true;
  s.report.enforcement = run::Enforcement::observe;
  s.policy.runtime_max = std::chrono::seconds{10};
  s.policy.on_driver_exit = run::OnDriverExit::freeze;
  s.policy.lease = std::chrono::minutes{1};
  s.policy.keep = {"*/buildd"};
  s.leases = {"me: why"};
  const std::string text = status_text(s, {}, 1'700'000'003'000'000, {});
  EXPECT_THAT(text, HasSubstr("Notes: kept, frozen, observe, 7.0s to its deadline\n"));
  EXPECT_THAT(text, HasSubstr("Policy: freeze leaks, ends after 10s, lease renewed within 1min, "
                              "keeps */buildd\n"));
  EXPECT_THAT(text, HasSubstr("Leases: me: why\n"));
}

TEST(ReportText, SaysWhatIsHeldAndWhatIsKept) {
  run::Report report = ended();
  report.state = run::State::holding;
  report.leaks_found = 1;
  report.leaks = {leak(10, "", run::Outcome::frozen)};
  EXPECT_THAT(report_text(report, {}), HasSubstr(" is holding: driver exited with 0"));
  EXPECT_THAT(report_text(report, {}), HasSubstr("frozen"));
  report.state = run::State::ended;
  report.end_reason = run::EndReason::deadline;
  report.kept = 1;
  EXPECT_THAT(report_text(report, {}), HasSubstr("ended at its deadline"));
  EXPECT_THAT(report_text(report, {}), HasSubstr("1 is kept in a run of its own; nothing is left "
                                                 "in the run"));
}

TEST(StatusText, ColoursNothingButTheState) {
  const std::string text = status_text(status(), {}, 0, {0, true});
  EXPECT_THAT(text, StartsWith("\033[32m●\033[0m demo"));
  EXPECT_THAT(text, HasSubstr("State: \033[32mrunning\033[0m since"));
}

TEST(Decode, GivesBackTheReportThatWasSent) {
  run::Report report = ended();
  report.leaks_found = 1;
  report.leaks = {leak(10, "tcp:127.0.0.1:80", run::Outcome::kill)};
  json object = json::object();
  run::FieldWriter writer(object);
  run::each_field(report, writer);
  const auto read = report_of(object);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, report);
}

TEST(Decode, TakesALimitThatIsNoneForAbsent) {
  json object = json::object();
  run::FieldWriter writer(object);
  const run::Status sent = status();
  run::each_property(sent, writer);
  for (const char* key : {"StartTimestamp", "StartTimestampMonotonic", "DriverExitTimestamp",
                          "EndTimestamp", "EndTimestampMonotonic"})
    object[key] = 0u;
  object["RuntimeMaxUSec"] = UINT64_MAX;
  object["HoldMaxUSec"] = 5'000'000u;
  const auto read = status_of(object);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_FALSE(read->policy.runtime_max);
  EXPECT_EQ(read->policy.hold_max, std::chrono::seconds{5});
  EXPECT_FALSE(read->policy.lease);
}

TEST(Decode, NamesTheFieldOfAnotherVersion) {
  json object = json::object();
  run::FieldWriter writer(object);
  const run::Report report = ended();
  run::each_field(report, writer);
  object["State"] = "waiting";
  EXPECT_THAT(report_of(object).error().message, HasSubstr("State: \"waiting\""));
  EXPECT_THAT(report_of(json::array()).error().message, HasSubstr("no dictionary"));
}

TEST(WithLog, LeavesOutThatTheBusMayNotRaiseItsLimit) {
  const UniqueFd log(memfd_create("log", MFD_CLOEXEC));
  const std::string text =
      "dbus-daemon[9]: [session uid=0 pid=9] Failed to set fd limit to 65536: Operation not "
      "permitted\nfirst\nsecond\n";
  ASSERT_EQ(write(log.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const std::string file = "/proc/self/fd/" + std::to_string(log.get());
  EXPECT_EQ(with_log("it does not start", file).message, "it does not start: first; second");
  ASSERT_EQ(ftruncate(log.get(), static_cast<off_t>(text.find("first"))), 0);
  EXPECT_EQ(with_log("it does not start", file).message, "it does not start");
}

}  // namespace
}  // namespace corral::cli
