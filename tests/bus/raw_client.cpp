#include "bus/raw_client.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "dbus/server.h"
#include "harness/eventually.h"

namespace corral::bus {
namespace {

using std::chrono::steady_clock;

void check(int result, const char* what) {
  if (result < 0) throw std::runtime_error(std::string(what) + ": " + strerror(-result));
}

int on_reply(sd_bus_message* reply, void* outcomes, sd_bus_error*) {
  const sd_bus_error* error = sd_bus_message_get_error(reply);
  static_cast<std::vector<std::string>*>(outcomes)->push_back(error != nullptr ? error->name
                                                                               : "ok");
  return 0;
}

}  // namespace

RawClient::RawClient(const std::string& address) {
  sd_bus* bus = nullptr;
  check(sd_bus_new(&bus), "sd_bus_new");
  bus_.reset(bus);
  check(sd_bus_set_address(bus, address.c_str()), "sd_bus_set_address");
  check(sd_bus_set_bus_client(bus, true), "sd_bus_set_bus_client");
  check(sd_bus_start(bus), "sd_bus_start");
  check(sd_bus_flush(bus), "connect");
}

Message RawClient::method(const std::string& member) const {
  sd_bus_message* message = nullptr;
  check(sd_bus_message_new_method_call(bus(), &message, dbus::kServiceName, dbus::kManagerPath,
                                       "org.corral.Corral1.Manager", member.c_str()),
        "new method call");
  return Message(message);
}

void RawClient::send(const Message& message) {
  check(sd_bus_call_async(bus(), nullptr, message.get(), on_reply, outcomes_.get(), 0), "send");
}

bool RawClient::wait_outcomes(size_t count) {
  const auto end = steady_clock::now() + harness::kDeadline;
  while (outcomes_->size() < count) {
    const int processed = sd_bus_process(bus(), nullptr);
    check(processed, "process");
    if (processed > 0) continue;
    const auto left =
        std::chrono::duration_cast<std::chrono::microseconds>(end - steady_clock::now());
    if (left.count() <= 0) return false;
    check(sd_bus_wait(bus(), static_cast<uint64_t>(left.count())), "wait");
  }
  return true;
}

std::string RawClient::call(const Message& message) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  sd_bus_message* reply = nullptr;
  const int result = sd_bus_call(bus(), message.get(), 10'000'000, &error, &reply);
  const Message owner(reply);
  std::string name = error.name != nullptr ? error.name : "";
  last_message_ = error.message != nullptr ? error.message : "";
  sd_bus_error_free(&error);
  if (result >= 0) return "ok";
  if (result == -ENOTCONN || result == -ECONNRESET) return "lost";
  return name.empty() ? strerror(-result) : name;
}

void append_no_options(const Message& message) {
  check(sd_bus_message_append(message.get(), "a{sv}", 0), "append");
}

}  // namespace corral::bus
