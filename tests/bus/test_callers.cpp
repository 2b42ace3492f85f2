#include <unistd.h>

#include <fstream>
#include <sstream>

#include "bus/fixture.h"

namespace corral::bus {
namespace {

using Callers = BusTest;

std::string slurp(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_F(Callers, AreWhoTheBusSaysAndTheirProcessIsHeld) {
  dbus::Caller seen;
  std::string fdinfo;
  service_.calls.before = [&](const dbus::Caller& caller) {
    seen = caller;
    fdinfo = slurp("/proc/self/fdinfo/" + std::to_string(caller.pidfd));
  };
  must(client_.get_report("r1"));
  EXPECT_EQ(seen.uid, getuid());
  EXPECT_EQ(seen.pid, getpid());
  EXPECT_EQ(seen.sender[0], ':');
  EXPECT_THAT(fdinfo, testing::HasSubstr("Pid:\t" + std::to_string(getpid()) + "\n"));
}

TEST_F(Callers, AreAskedForOnce) {
  std::set<int> pidfds;
  service_.calls.before = [&](const dbus::Caller& caller) { pidfds.insert(caller.pidfd); };
  for (int i = 0; i < 10; ++i) must(client_.get_report("r1"));
  EXPECT_THAT(pidfds, testing::SizeIs(1));
}

TEST_F(Callers, KeepTheOrderOfTheirCallsWhileTheyAreAskedAbout) {
  RawClient raw(bus_.address());
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    const std::string id = "r" + std::to_string(i);
    // GetRun needs no identity, and still waits for its turn.
    const bool reads = i % 2 == 1;
    const auto message = raw.method(reads ? "GetRun" : "ForgetRun");
    sd_bus_message_append(message.get(), "s", id.c_str());
    if (!reads) append_no_options(message);
    raw.send(message);
    expected.push_back((reads ? "GetRun " : "ForgetRun ") + id);
  }
  ASSERT_TRUE(raw.wait_outcomes(expected.size()));
  EXPECT_EQ(calls_seen(), expected);
}

TEST_F(Callers, AreForgottenOldestFirstAndAskedForAgain) {
  std::set<std::string> senders;
  service_.calls.before = [&](const dbus::Caller& caller) { senders.insert(caller.sender); };
  const auto first = std::make_unique<RawClient>(bus_.address());
  const auto call = [](RawClient& raw) {
    const auto message = raw.method("ForgetRun");
    sd_bus_message_append(message.get(), "sa{sv}", "r1", 0);
    return raw.call(message);
  };
  EXPECT_EQ(call(*first), "ok");
  for (int i = 0; i < 300; ++i) {
    RawClient other(bus_.address());
    ASSERT_EQ(call(other), "ok");
  }
  EXPECT_EQ(call(*first), "ok");
  EXPECT_THAT(senders, testing::SizeIs(301));
}

}  // namespace
}  // namespace corral::bus
