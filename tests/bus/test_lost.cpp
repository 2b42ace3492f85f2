#include <poll.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>

#include "bus/fixture.h"
#include "harness/eventually.h"

namespace corral::bus {
namespace {

using Lost = BusTest;

// Lets time pass in which nothing is to happen.
void watch_nothing(std::chrono::milliseconds time) {
  ASSERT_EQ(poll(nullptr, 0, static_cast<int>(time.count())), 0);
}

double cpu_seconds(Service& service) {
  timespec used{};
  clock_gettime(service.cpu_clock(), &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

// How often the loop's thread has gone to sleep so far: once for each epoll_wait(2).
std::string switches(const Service& service) {
  std::ifstream status("/proc/self/task/" + std::to_string(service.thread_id()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("voluntary_ctxt_switches")) return line;
  }
  return "";
}

TEST_F(Lost, ADeadBusIsToldOnceAndCostsNothingAfterwards) {
  must(client_.get_run("r1"));
  bus_.kill();
  ASSERT_TRUE(harness::eventually([&] { return service_.lost() > 0; }));
  const double before = cpu_seconds(service_);
  watch_nothing(std::chrono::milliseconds{300});
  EXPECT_LT(cpu_seconds(service_) - before, 0.05);
  EXPECT_EQ(service_.lost(), 1);
}

TEST_F(Lost, WhatIsSaidToADeadBusIsLostInSilence) {
  dbus::Reply<run::Report> held;
  service_.calls.on_end = [&](auto&, auto&, auto, dbus::Reply<run::Report> reply) {
    held = std::move(reply);
  };
  RawClient raw(bus_.address());
  const auto message = raw.method("EndRun");
  sd_bus_message_append(message.get(), "sa{sv}", "r1", 0);
  raw.send(message);
  while (calls_seen().empty()) (void)sd_bus_process(raw.bus(), nullptr);
  auto status = sample_status();
  service_.on_loop([&] { service_.server().publish(status); });
  bus_.kill();
  ASSERT_TRUE(harness::eventually([&] { return service_.lost() > 0; }));
  service_.on_loop([&] {
    held(sample_status().report);
    service_.server().changed(status, {"State"});
    service_.server().run_ended(status);
    service_.server().manager_changed({"Runs"});
    service_.server().flush();
    service_.server().withdraw(sample_name().invocation);
    const auto named = service_.server().request_name();
    EXPECT_FALSE(named);
  });
  service_.on_loop([&] { held = {}; });
}

TEST_F(Lost, AnIdleServiceSleeps) {
  must(client_.get_report("r1"));
  std::string before;
  // The timer of the credentials' call is off, and no callback comes back.
  ASSERT_TRUE(harness::eventually([&] {
    const auto seen = switches(service_);
    watch_nothing(std::chrono::milliseconds{50});
    before = switches(service_);
    return seen == before;
  }));
  const double used = cpu_seconds(service_);
  watch_nothing(std::chrono::milliseconds{700});
  EXPECT_EQ(switches(service_), before);
  EXPECT_EQ(cpu_seconds(service_), used);
}

TEST_F(Lost, ANameThatAnotherHasIsRefused) {
  try {
    Service second(bus_.address());
    FAIL() << "got the name twice";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "request the bus name org.corral.Corral1: File exists; another corrald serves "
                 "this bus: stop it first");
  }
  EXPECT_EQ(error_of(client_.get_run("r1")), "");
}

}  // namespace
}  // namespace corral::bus
