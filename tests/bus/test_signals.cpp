#include <map>

#include "bus/fixture.h"

namespace corral::bus {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

constexpr const char* kRunPath = "/org/corral/Corral1/run/r1/0123456789abcdef0123456789abcdef";

// What came from the service, as "member signature arguments".
struct Heard {
  std::vector<std::string> lines;
  std::map<std::string, std::string> changed;  // property, type and value
};

// The next value as text; "" for a container, which is passed over.
std::string next_value(sd_bus_message* message) {
  char type = 0;
  const char* contents = nullptr;
  if (sd_bus_message_peek_type(message, &type, &contents) <= 0) return "";
  if (contents != nullptr) {
    sd_bus_message_skip(message, (type + std::string(contents)).c_str());
    return "";
  }
  if (type == 's' || type == 'o') {
    const char* text = nullptr;
    sd_bus_message_read_basic(message, type, &text);
    return text;
  }
  if (type == 't') {
    uint64_t number = 0;
    sd_bus_message_read_basic(message, type, &number);
    return std::to_string(number);
  }
  uint32_t number = 0;  // b, i and u are four bytes each
  sd_bus_message_read_basic(message, type, &number);
  return std::to_string(number);
}

int on_manager_signal(sd_bus_message* message, void* heard, sd_bus_error*) {
  std::string line = std::string(sd_bus_message_get_member(message)) + " " +
                     sd_bus_message_get_signature(message, true);
  while (sd_bus_message_at_end(message, true) == 0) line += " " + next_value(message);
  static_cast<Heard*>(heard)->lines.push_back(line);
  return 0;
}

int on_changed(sd_bus_message* message, void* userdata, sd_bus_error*) {
  auto& heard = *static_cast<Heard*>(userdata);
  heard.lines.push_back(std::string("changed ") + next_value(message));
  sd_bus_message_enter_container(message, 'a', "{sv}");
  while (sd_bus_message_enter_container(message, 'e', "sv") > 0) {
    const std::string name = next_value(message);
    const char* type = nullptr;
    sd_bus_message_peek_type(message, nullptr, &type);
    const std::string signature = type;
    sd_bus_message_enter_container(message, 'v', type);
    heard.changed[name] = signature + " " + next_value(message);
    sd_bus_message_exit_container(message);
    sd_bus_message_exit_container(message);
  }
  return 0;
}

class Signals : public BusTest {
 protected:
  Signals() {
    sd_bus_match_signal(raw_.bus(), nullptr, dbus::kServiceName, dbus::kManagerPath,
                        "org.corral.Corral1.Manager", nullptr, on_manager_signal, &heard_);
    sd_bus_match_signal(raw_.bus(), nullptr, dbus::kServiceName, nullptr,
                        "org.freedesktop.DBus.Properties", "PropertiesChanged", on_changed,
                        &heard_);
    status_ = sample_status();
  }
  // A call that comes back has everything sent before it in front.
  void hear_all() {
    const auto message = raw_.method("GetRun");
    sd_bus_message_append(message.get(), "s", "r1");
    raw_.send(message);
    ASSERT_TRUE(raw_.wait_outcomes(++asked_));
  }

  RawClient raw_{bus_.address()};
  Heard heard_;
  run::Status status_;
  size_t asked_ = 0;
};

TEST_F(Signals, TheFourArriveInOrderWithTheirTypes) {
  service_.on_loop([&] {
    service_.server().run_started(status_);
    service_.server().driver_exited(status_);
    service_.server().leaks_found(status_);
    service_.server().run_ended(status_);
  });
  hear_all();
  const std::string name = "r1 " + kInvocation + " " + kRunPath;
  EXPECT_THAT(heard_.lines,
              ElementsAre("RunStarted sso " + name, "DriverExited ssosi " + name + " exited 7",
                          "LeaksFound ssou " + name + " 3",
                          "RunEnded ssoss " + name + " exit-code driver-exited"));
}

TEST_F(Signals, AReplyComesBeforeTheSignalsThatFollowIt) {
  service_.calls.on_start = [&](auto&, auto, dbus::Reply<dbus::RunName> reply) {
    reply(sample_name());
    service_.server().run_started(status_);
  };
  const auto message = raw_.method("StartRun");
  sd_bus_message_append(message.get(), "sasa{sv}", "r1", 1, "true", 0);
  raw_.send(message);
  while (heard_.lines.empty()) {
    const int processed = sd_bus_process(raw_.bus(), nullptr);
    ASSERT_GE(processed, 0);
    if (processed == 0) {
      ASSERT_GT(sd_bus_wait(raw_.bus(), 20'000'000), 0);
    }
  }
  EXPECT_THAT(raw_.outcomes(), ElementsAre("ok"));
}

TEST_F(Signals, ChangedPropertiesOfARunCarryTheirValues) {
  service_.on_loop([&] {
    service_.server().publish(status_);
    service_.server().changed(status_, {"State", "DriverPID", "DriverStatus", "EndMessage"});
  });
  hear_all();
  EXPECT_THAT(heard_.lines, ElementsAre("changed org.corral.Corral1.Run"));
  EXPECT_THAT(heard_.changed, UnorderedElementsAre(testing::Pair("State", "s running"),
                                                   testing::Pair("DriverPID", "u 4711"),
                                                   testing::Pair("DriverStatus", "i 7"),
                                                   testing::Pair("EndMessage", "s message")));
  service_.on_loop([&] { service_.server().withdraw(sample_name().invocation); });
}

TEST_F(Signals, EveryPropertyThatChangesCanBeAnnounced) {
  std::vector<std::string> names;
  run::each_property(status_, [&](const char* name, const auto&) { names.push_back(name); });
  std::erase_if(names, [](const auto& name) {
    return name == "Id" || name == "Invocation" || name == "OwnerUID" || name == "ControlGroupId" ||
           name == "Kind";
  });
  for (const char* name : {"StartTimestamp", "StartTimestampMonotonic", "DriverExitTimestamp",
                           "DriverExitTimestampMonotonic", "EndTimestamp", "EndTimestampMonotonic",
                           "RuntimeMaxUSec", "LeaseUSec", "Leases"}) {
    names.emplace_back(name);
  }
  service_.on_loop([&] {
    service_.server().publish(status_);
    service_.server().changed(status_, names);
  });
  hear_all();
  EXPECT_EQ(heard_.changed.size(), names.size());
  service_.on_loop([&] { service_.server().withdraw(sample_name().invocation); });
}

TEST_F(Signals, ChangedPropertiesOfTheManagerCarryTheirValues) {
  service_.on_loop([&] { service_.server().manager_changed({"Runs", "Leaks", "Enforcement"}); });
  hear_all();
  EXPECT_THAT(heard_.changed,
              UnorderedElementsAre(testing::Pair("Runs", "u 5"), testing::Pair("Leaks", "u 6"),
                                   testing::Pair("Enforcement", "s observe")));
}

TEST_F(Signals, NothingIsSaidOfARunThatIsNotThere) {
  service_.on_loop([&] {
    service_.server().changed(status_, {"State"});
    service_.server().changed(status_, {});
    service_.server().manager_changed({});
  });
  hear_all();
  EXPECT_THAT(heard_.lines, testing::IsEmpty());
}

TEST_F(Signals, FlushComesBackWhenAllIsSent) {
  service_.on_loop([&] {
    service_.server().run_ended(status_);
    service_.server().flush();
  });
  hear_all();
  EXPECT_EQ(heard_.lines.size(), 1u);
}

}  // namespace
}  // namespace corral::bus
