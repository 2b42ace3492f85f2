#pragma once

#include <systemd/sd-bus.h>

#include <memory>
#include <string>
#include <vector>

namespace corral::bus {

struct FreeMessage {
  void operator()(sd_bus_message* message) const { sd_bus_message_unref(message); }
};
using Message = std::unique_ptr<sd_bus_message, FreeMessage>;

// A caller without the generated proxies, for calls that these would not make, and for many at
// once.
class RawClient {
 public:
  explicit RawClient(const std::string& address);
  RawClient(RawClient&&) noexcept = default;

  sd_bus* bus() const { return bus_.get(); }
  // A call of a method of the manager, without arguments so far.
  Message method(const std::string& member) const;
  // Sends the call without waiting. The outcome is appended to `outcomes()` when it comes: "ok", or
  // the error's name.
  void send(const Message& message);
  const std::vector<std::string>& outcomes() const { return *outcomes_; }
  // Waits until there are so many outcomes; false at the deadline.
  bool wait_outcomes(size_t count);
  // Sends the call and waits: "ok", the error's name, or "lost" where the connection went.
  std::string call(const Message& message);
  // What the last call was answered with beside its name.
  const std::string& last_message() const { return last_message_; }

 private:
  struct Close {
    void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
  };
  std::unique_ptr<sd_bus, Close> bus_;
  std::unique_ptr<std::vector<std::string>> outcomes_ =
      std::make_unique<std::vector<std::string>>();
  std::string last_message_;
};

// Appends an empty a{sv}.
void append_no_options(const Message& message);

}  // namespace corral::bus
