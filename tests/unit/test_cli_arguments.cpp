#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <csignal>

#include "cli/arguments.h"
#include "cli/exit_status.h"

namespace corral::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Surroundings surroundings() {
  return {1000, {"PATH=/bin", "HOME=/home/x"}, "/somewhere", "run-01234567"};
}

Arguments parsed(const std::vector<std::string>& words) {
  auto result = parse_arguments(words, surroundings());
  if (const auto* leave = std::get_if<Leave>(&result)) {
    ADD_FAILURE() << leave->text;
    return {};
  }
  return std::get<Arguments>(std::move(result));
}

Leave refused(const std::vector<std::string>& words) {
  auto result = parse_arguments(words, surroundings());
  if (const auto* leave = std::get_if<Leave>(&result)) return *leave;
  return {-1, "was accepted"};
}

TEST(Arguments, LeaveTheCommandLineOfTheDriverAlone) {
  const auto arguments =
      parsed({"run", "--detach", "--id", "r1", "--", "end", "--user", "--", "-x"});
  EXPECT_EQ(arguments.command, Command::run);
  EXPECT_EQ(arguments.start.id, "r1");
  EXPECT_TRUE(arguments.detach);
  EXPECT_THAT(arguments.start.argv, ElementsAre("end", "--user", "--", "-x"));
}

TEST(Arguments, GiveARunWhatItWasNotGiven) {
  const auto start = parsed({"run", "-d", "--", "true"}).start;
  EXPECT_EQ(start.id, "run-01234567");
  EXPECT_EQ(start.working_directory, "/somewhere");
  EXPECT_THAT(start.environment, ElementsAre("PATH=/bin", "HOME=/home/x"));
  EXPECT_FALSE(start.grace);
  EXPECT_FALSE(start.owner);
}

TEST(Arguments, TakeEveryOptionOfAStart) {
  const auto start = parsed({"run",
                             "-d",
                             "--owner=me",
                             "--label",
                             "a=b",
                             "--label",
                             "c=d=e",
                             "--settle",
                             "0",
                             "--grace=1min",
                             "--term-signal",
                             "INT",
                             "--working-directory",
                             "/w",
                             "--setenv",
                             "HOME=/h",
                             "--stdout",
                             "append:/o",
                             "--stdin=null",
                             "--token",
                             "t",
                             "true"})
                         .start;
  EXPECT_EQ(start.owner, "me");
  EXPECT_EQ(start.token, "t");
  EXPECT_THAT(start.labels, ElementsAre(Pair("a", "b"), Pair("c", "d=e")));
  EXPECT_EQ(start.settle, microseconds{0});
  EXPECT_EQ(start.grace, std::chrono::minutes{1});
  EXPECT_EQ(start.term_signal, SIGINT);
  EXPECT_EQ(start.working_directory, "/w");
  EXPECT_THAT(start.environment, ElementsAre("PATH=/bin", "HOME=/h"));
  EXPECT_EQ(start.output, "append:/o");
  EXPECT_EQ(start.input, "null");
}

TEST(Arguments, TakeGlobalOptionsOnBothSidesOfTheCommand) {
  for (const auto& words : {std::vector<std::string>{"--json=short", "--no-legend", "list"},
                            std::vector<std::string>{"list", "--json=short", "--no-legend"}}) {
    const auto arguments = parsed(words);
    EXPECT_EQ(arguments.json, JsonStyle::compact);
    EXPECT_FALSE(arguments.legend);
  }
}

TEST(Arguments, SignalAllWithTermUnlessToldOtherwise) {
  EXPECT_EQ(parsed({"kill", "r1"}).signal, SIGTERM);
  EXPECT_EQ(parsed({"kill", "r1"}).whom, "all");
  const auto arguments = parsed({"kill", "r1", "-s", "USR1", "--whom=driver"});
  EXPECT_EQ(arguments.signal, SIGUSR1);
  EXPECT_EQ(arguments.whom, "driver");
}

TEST(Arguments, TakeSeveralIds) {
  EXPECT_THAT(parsed({"end", "a", "b", "--grace=0"}).names, ElementsAre("a", "b"));
}

TEST(Arguments, AreRefusedWithTheirName) {
  EXPECT_THAT(refused({"bogus"}).text, HasSubstr("unknown command \"bogus\""));
  EXPECT_THAT(refused({}).text, HasSubstr("command is required"));
  EXPECT_THAT(refused({"list", "--frob"}).text, HasSubstr("--frob"));
  EXPECT_THAT(refused({"end"}).text, HasSubstr("ID"));
  EXPECT_THAT(refused({"end", "r", "--grace", "5x"}).text, HasSubstr("\"5x\" is not a time span"));
  EXPECT_THAT(refused({"kill", "r", "-s", "FOO"}).text, HasSubstr("\"FOO\" is not a signal"));
  EXPECT_THAT(refused({"kill", "r", "--whom=me"}).text, HasSubstr("--whom"));
  EXPECT_THAT(refused({"end", "r", "--invocation=0"}).text, HasSubstr("32 hex digits"));
  EXPECT_THAT(refused({"--json=xml", "list"}).text, HasSubstr("short or pretty"));
  EXPECT_THAT(refused({"--system", "--user", "list"}).text, HasSubstr("excludes"));
  EXPECT_THAT(refused({"list", "--embedded"}).text, HasSubstr("--embedded"));
  EXPECT_THAT(refused({"wait", "a", "b"}).text, HasSubstr("b"));
}

TEST(Arguments, OfARunAreRefusedWithTheirName) {
  EXPECT_THAT(refused({"run", "-d"}).text, HasSubstr("CMD"));
  EXPECT_THAT(refused({"run", "-d", "--id", "a/b", "x"}).text, HasSubstr("\"a/b\" is not an id"));
  EXPECT_THAT(refused({"run", "-d", "--label", "x", "x"}).text, HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refused({"run", "-d", "--setenv", "=x", "x"}).text, HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refused({"run", "-d", "--stdin", "append:/x", "x"}).text, HasSubstr("not null"));
  EXPECT_THAT(refused({"run", "-d", "--report=f", "x"}).text, HasSubstr("waited for"));
  EXPECT_THAT(refused({"run", "--stdout", "null", "x"}).text, HasSubstr("--detach"));
  EXPECT_THAT(refused({"run", "-d", "--fail-on-leak", "x"}).text, HasSubstr("waited for"));
  EXPECT_THAT(refused({"run", "--fail-on-leak=256", "x"}).text, HasSubstr("1 to 255"));
  EXPECT_THAT(refused({"run", "--fail-on-leak=", "x"}).text, HasSubstr("1 to 255"));
  EXPECT_THAT(refused({"run", "--settle=61min", "x"}).text,
              HasSubstr("--settle: \"61min\" is not a time span such as 200ms, 5s or 1min, of at "
                        "most 1h"));
  EXPECT_THAT(refused({"end", "--grace=21s", "x"}).text, HasSubstr("of at most 20s"));
  EXPECT_THAT(refused({"end", "--grace=61min", "--no-block", "x"}).text, HasSubstr("at most 1h"));
  EXPECT_EQ(parsed({"end", "--grace=21s", "--no-block", "x"}).grace, std::chrono::seconds{21});
  EXPECT_THAT(refused({"run", "--token=t", "x"}).text, HasSubstr("--detach"));
  EXPECT_THAT(refused({"run", "--cgroup-root=/x", "x"}).text, HasSubstr("--embedded"));
  EXPECT_THAT(refused({"--embedded", "run", "-d", "x"}).text, HasSubstr("--detach"));
}

TEST(Arguments, AreUtf8AsTheBusWantsIt) {
  EXPECT_THAT(refused({"run", "-d", "--", "echo", "\xff"}).text, HasSubstr("\"\\xff\": not UTF-8"));
  Surroundings here = surroundings();
  here.environment.push_back("BAD=\xff");
  const auto result = parse_arguments({"run", "-d", "--", "true"}, here);
  ASSERT_TRUE(std::holds_alternative<Leave>(result));
  EXPECT_THAT(std::get<Leave>(result).text, HasSubstr("variable BAD: not UTF-8"));
  EXPECT_TRUE(std::holds_alternative<Arguments>(parse_arguments({"list"}, here)));
}

TEST(Arguments, OfAnAttachedRunStayWithUs) {
  Surroundings here = surroundings();
  here.environment = {"BAD=\xff", "no variable"};
  const auto result = parse_arguments({"run", "--fail-on-leak", "--", "echo", "\xff"}, here);
  ASSERT_TRUE(std::holds_alternative<Arguments>(result));
  const auto& arguments = std::get<Arguments>(result);
  EXPECT_TRUE(arguments.attached());
  EXPECT_EQ(arguments.start.argv.back(), "\xff");
  EXPECT_EQ(arguments.start.environment, here.environment);
  EXPECT_EQ(arguments.start.working_directory, "");
  EXPECT_EQ(arguments.fail_on_leak, 3);
  EXPECT_THAT(refused({"run", "--owner=\xff", "--", "x"}).text, HasSubstr("not UTF-8"));
}

TEST(Arguments, LeaveTheStatusesOfTheDriverFree) {
  EXPECT_EQ(refused({"list", "--frob"}).status, kUsage);
  EXPECT_EQ(refused({"run", "--frob", "--", "x"}).status, kOwnFailure);
  EXPECT_EQ(refused({"wait"}).status, kOwnFailure);
}

TEST(Arguments, AskedForHelpLeaveWithSuccess) {
  for (const auto& words : {std::vector<std::string>{"--help"}, {"run", "--help"}, {"--version"}})
    EXPECT_EQ(refused(words).status, kSuccess);
  EXPECT_THAT(refused({"end", "--help"}).text, HasSubstr("corralctl end"));
}

RC_GTEST_PROP(Arguments, NeverThrow, (const std::vector<std::string>& words)) {
  (void)parse_arguments(words, surroundings());
}

TEST(ChooseBus, GoesFromTheCommandLineToTheEnvironmentToTheUser) {
  Surroundings here = surroundings();
  EXPECT_EQ(choose_bus("unix:path=/x", false, false, here).address, "unix:path=/x");
  EXPECT_EQ(choose_bus("system", false, false, here).kind, dbus::BusKind::system);
  EXPECT_EQ(choose_bus(std::nullopt, true, false, here).kind, dbus::BusKind::system);
  EXPECT_EQ(choose_bus(std::nullopt, false, false, here).kind, dbus::BusKind::user);
  here.environment.push_back("CORRAL_BUS_ADDRESS=unix:path=/y");
  EXPECT_EQ(choose_bus(std::nullopt, false, false, here).address, "unix:path=/y");
  EXPECT_EQ(choose_bus(std::nullopt, false, true, here).kind, dbus::BusKind::user);
  here.environment.back() = "CORRAL_BUS_ADDRESS=";
  here.uid = 0;
  EXPECT_EQ(choose_bus(std::nullopt, false, false, here).kind, dbus::BusKind::system);
}

TEST(StatusOfDriver, IsThatOfAShell) {
  EXPECT_EQ(status_of_driver(run::DriverExit::exited, 7), 7);
  EXPECT_EQ(status_of_driver(run::DriverExit::killed, SIGKILL), 137);
  EXPECT_EQ(status_of_driver(run::DriverExit::dumped, SIGSEGV), 139);
  EXPECT_EQ(status_of_driver(run::DriverExit::unknown, 0), kOwnFailure);
}

}  // namespace
}  // namespace corral::cli
