#include "bus/fixture.h"
#include "dbus/errors.h"

namespace corral::bus {
namespace {

using run::FaultKind;
using Errors = BusTest;

TEST_F(Errors, EveryFaultArrivesUnderItsNameWithItsMessage) {
  for (int i = 0; i <= static_cast<int>(FaultKind::pid_unknown); ++i) {
    const auto kind = static_cast<FaultKind>(i);
    service_.on_loop([&] {
      service_.calls.on_report = [=]() -> run::Answer<run::Report> {
        return run::fault(kind, "what and why");
      };
    });
    const auto answer = client_.get_report("r1");
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().name, dbus::error_name(kind));
    EXPECT_EQ(answer.error().message, "what and why");
  }
}

TEST_F(Errors, EveryMethodPassesAFaultOn) {
  const auto busy = [] { return run::fault(FaultKind::run_busy, "busy"); };
  service_.calls.on_start = [=](auto&, auto, auto reply) { reply(busy()); };
  service_.calls.on_end = [=](auto&, auto&, auto, auto reply) { reply(busy()); };
  service_.calls.on_end_runs = [=](auto&, auto, auto reply) { reply(busy()); };
  service_.calls.on_lease = [=]() -> run::Answer<UniqueFd> { return busy(); };
  service_.calls.on_wait = [=](auto&, auto reply) { reply(busy()); };
  service_.calls.on_report = [=]() -> run::Answer<run::Report> { return busy(); };
  service_.calls.on_rows = [=](auto&) -> run::Answer<std::vector<run::Process>> { return busy(); };
  service_.calls.on_act = [=]() -> run::Answer<void> { return busy(); };
  service_.calls.on_name = [=](auto) -> run::Answer<dbus::RunName> { return busy(); };
  service_.calls.on_list = [=](auto&) -> run::Answer<std::vector<const run::Status*>> {
    return busy();
  };
  const std::string name = dbus::error_name(FaultKind::run_busy);
  EXPECT_EQ(error_of(client_.start_run("r1", {"true"})), name);
  EXPECT_EQ(error_of(client_.end_run("r1")), name);
  EXPECT_EQ(error_of(client_.wait_run("r1")), name);
  EXPECT_EQ(error_of(client_.get_report("r1")), name);
  EXPECT_EQ(error_of(client_.signal_run("r1", "all", 9)), name);
  EXPECT_EQ(error_of(client_.get_run("r1")), name);
  EXPECT_EQ(error_of(client_.get_run_by_pid(1)), name);
  EXPECT_EQ(error_of(client_.list_runs()), name);
  EXPECT_EQ(error_of(client_.list_processes()), name);
  EXPECT_EQ(error_of(client_.list_leaks()), name);
  EXPECT_EQ(error_of(client_.forget_run("r1")), name);
  EXPECT_EQ(error_of(client_.end_runs()), name);
  EXPECT_EQ(error_of(client_.freeze_run("r1")), name);
  EXPECT_EQ(error_of(client_.thaw_run("r1")), name);
  EXPECT_EQ(error_of(client_.set_run("r1", {})), name);
  EXPECT_EQ(error_of(client_.renew_lease("r1", 1)), name);
  EXPECT_EQ(error_of(client_.acquire_lease("r1", "", "")), name);
  EXPECT_EQ(error_of(client_.set_enforcement("observe")), name);
  EXPECT_EQ(error_of(client_.release(publish(sample_status()), {1})), name);
}

TEST_F(Errors, EveryMethodRefusesAnUnknownOptionByNameAndCallsNothing) {
  const Dict bad = {{"Nonsense", true}};
  const auto expect_refused = [](const auto& answer) {
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().name, "org.freedesktop.DBus.Error.InvalidArgs");
    EXPECT_THAT(answer.error().message, testing::HasSubstr("unknown option \"Nonsense\""));
  };
  expect_refused(client_.start_run("r1", {"true"}, bad));
  expect_refused(client_.end_run("r1", bad));
  expect_refused(client_.wait_run("r1", bad));
  expect_refused(client_.get_report("r1", bad));
  expect_refused(client_.signal_run("r1", "all", 9, bad));
  expect_refused(client_.list_runs(bad));
  expect_refused(client_.list_processes(bad));
  expect_refused(client_.list_leaks(bad));
  expect_refused(client_.forget_run("r1", bad));
  expect_refused(client_.end_runs(bad));
  expect_refused(client_.freeze_run("r1", bad));
  expect_refused(client_.thaw_run("r1", bad));
  expect_refused(client_.set_run("r1", bad));
  expect_refused(client_.adopt_processes("r1", {1}, bad));
  EXPECT_THAT(calls_seen(), testing::IsEmpty());
}

TEST_F(Errors, EveryMethodRefusesABadId) {
  const std::string name = "org.freedesktop.DBus.Error.InvalidArgs";
  EXPECT_EQ(error_of(client_.start_run("a/b", {"true"})), name);
  EXPECT_EQ(error_of(client_.end_run("")), name);
  EXPECT_EQ(error_of(client_.wait_run("-a")), name);
  EXPECT_EQ(error_of(client_.get_report(".a")), name);
  EXPECT_EQ(error_of(client_.signal_run(std::string(129, 'x'), "all", 9)), name);
  EXPECT_EQ(error_of(client_.get_run("ä")), name);
  EXPECT_EQ(error_of(client_.forget_run("a b")), name);
  EXPECT_EQ(error_of(client_.freeze_run("")), name);
  EXPECT_EQ(error_of(client_.thaw_run("")), name);
  EXPECT_EQ(error_of(client_.set_run("", {})), name);
  EXPECT_EQ(error_of(client_.renew_lease("", 1)), name);
  EXPECT_EQ(error_of(client_.acquire_lease("", "", "")), name);
  EXPECT_EQ(error_of(client_.adopt_processes("", {1})), name);
}

TEST_F(Errors, WrongArgumentTypesNeverReachAHandler) {
  RawClient raw(bus_.address());
  const auto message = raw.method("EndRun");
  sd_bus_message_append(message.get(), "u", 7);
  EXPECT_EQ(raw.call(message), "org.freedesktop.DBus.Error.InvalidArgs");
  EXPECT_EQ(raw.call(raw.method("Nonsense")), "org.freedesktop.DBus.Error.UnknownMethod");
}

TEST_F(Errors, AMessageIsEscapedWhereItIsNotUtf8) {
  service_.calls.on_report = []() -> run::Answer<run::Report> {
    return run::fault(FaultKind::still_populated, "stuck: \xff\xfe");
  };
  const auto answer = client_.get_report("r1");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().name, "org.corral.Corral1.Error.StillPopulated");
  EXPECT_EQ(answer.error().message, "stuck: \\xff\\xfe");
}

}  // namespace
}  // namespace corral::bus
