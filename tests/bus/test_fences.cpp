#include <stdexcept>

#include "bus/fixture.h"

namespace corral::bus {
namespace {

const std::string kFailed = "org.freedesktop.DBus.Error.Failed";
using Fences = BusTest;

TEST_F(Fences, AHandlerThatThrowsIsAnsweredWithFailedAndTheConnectionLivesOn) {
  service_.calls.before = [](auto&) { throw std::runtime_error("a bug \xff"); };
  EXPECT_EQ(error_of(client_.start_run("r1", {"true"})), kFailed);
  EXPECT_EQ(error_of(client_.end_run("r1")), kFailed);
  EXPECT_EQ(error_of(client_.wait_run("r1")), kFailed);
  EXPECT_EQ(error_of(client_.get_report("r1")), kFailed);
  EXPECT_EQ(error_of(client_.signal_run("r1", "all", 9)), kFailed);
  EXPECT_EQ(error_of(client_.get_run("r1")), kFailed);
  EXPECT_EQ(error_of(client_.get_run_by_pid(1)), kFailed);
  EXPECT_EQ(error_of(client_.list_runs()), kFailed);
  EXPECT_EQ(error_of(client_.list_processes()), kFailed);
  EXPECT_EQ(error_of(client_.list_leaks()), kFailed);
  EXPECT_EQ(error_of(client_.forget_run("r1")), kFailed);
  service_.on_loop([&] { service_.calls.before = nullptr; });
  EXPECT_EQ(must(client_.get_run("r1")).id, "r1");
}

TEST_F(Fences, SomethingThatIsNoExceptionIsFencedToo) {
  service_.calls.before = [](auto&) { throw 7; };
  EXPECT_EQ(error_of(client_.get_run("r1")), kFailed);
  service_.on_loop([&] { service_.calls.before = nullptr; });
  EXPECT_EQ(error_of(client_.get_run("r1")), "");
}

TEST_F(Fences, APropertyThatThrowsFailsAloneAndTheConnectionLivesOn) {
  service_.calls.on_manager = []() -> dbus::ManagerProperties { throw std::runtime_error("bug"); };
  service_.calls.on_descendants = []() -> uint32_t { throw std::runtime_error("bug"); };
  const auto path = publish(sample_status());
  EXPECT_EQ(error_of(client_.manager_property("Runs")), kFailed);
  EXPECT_EQ(error_of(client_.run_property(path, "Descendants")), kFailed);
  EXPECT_EQ(must(client_.run_property(path, "Id")).get<std::string>(), "r1");
}

TEST_F(Fences, ACallThatIsDroppedUnansweredFails) {
  service_.calls.on_end = [](auto&, auto&, auto, dbus::Reply<run::Report>) {};
  EXPECT_EQ(error_of(client_.end_run("r1")), kFailed);
}

TEST_F(Fences, ACallIsAnsweredOnce) {
  service_.calls.on_end = [](auto&, auto&, auto, dbus::Reply<run::Report> reply) {
    reply(sample_status().report);
    reply(run::fault(run::FaultKind::run_busy, "again"));
    throw std::runtime_error("and thrown");
  };
  EXPECT_EQ(value<std::string>(must(client_.end_run("r1")), "Id"), "r1");
  EXPECT_EQ(error_of(client_.get_run("r1")), "");
}

TEST_F(Fences, AReplyToACallerThatLeftHarmsNobody) {
  dbus::Reply<run::Report> held;
  service_.calls.on_end = [&](auto&, auto&, auto, dbus::Reply<run::Report> reply) {
    held = std::move(reply);
  };
  {
    RawClient raw(bus_.address());
    const auto message = raw.method("EndRun");
    sd_bus_message_append(message.get(), "sa{sv}", "r1", 0);
    raw.send(message);
    while (calls_seen().empty()) (void)sd_bus_process(raw.bus(), nullptr);
  }
  service_.on_loop([&] { held(sample_status().report); });
  EXPECT_EQ(error_of(client_.get_run("r1")), "");
}

TEST_F(Fences, AServiceThatStopsTellsThoseWhoWaitAndTheirRepliesMayOutliveIt) {
  dbus::Reply<run::Report> held;
  service_.calls.on_end = [&](auto&, auto&, auto, dbus::Reply<run::Report> reply) {
    held = std::move(reply);
  };
  RawClient raw(bus_.address());
  const auto message = raw.method("EndRun");
  sd_bus_message_append(message.get(), "sa{sv}", "r1", 0);
  raw.send(message);
  while (calls_seen().empty()) (void)sd_bus_process(raw.bus(), nullptr);
  service_.stop_server();
  ASSERT_TRUE(raw.wait_outcomes(1));
  EXPECT_THAT(raw.outcomes(), testing::ElementsAre("org.freedesktop.DBus.Error.NoReply"));
  service_.on_loop([&] { held(sample_status().report); });
  service_.on_loop([&] { held = {}; });
}

}  // namespace
}  // namespace corral::bus
