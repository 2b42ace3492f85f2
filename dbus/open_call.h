#pragma once

#include <sdbus-c++/Message.h>

#include <concepts>
#include <functional>
#include <memory>
#include <string>

#include "run/fault.h"

namespace corral::dbus {

class OpenCalls;

// A method call that waits for its answer; answers once, later ones do nothing. Dropped unanswered,
// the caller gets Failed. May outlive the connection: it then answers nobody. Sending never throws:
// what goes wrong (the message does not fit, the connection is gone) is logged.
class OpenCall {
 public:
  // `message` is the method call being handled; `name` its name for errors.
  OpenCall(OpenCalls& all, const sdbus::MethodCall& message, std::string name);
  OpenCall(OpenCall&&) noexcept = default;
  OpenCall& operator=(OpenCall&&) = delete;
  ~OpenCall();

  // `write` appends the reply's arguments to the message it is given.
  template <std::invocable<sdbus::Message&> Write>
  void answer(Write&& write) noexcept {
    if (auto node = take()) send(*node, [&](sdbus::Message& reply) { write(reply); });
  }
  void refuse(const run::Fault& fault) noexcept;
  void fail(const std::string& error_name, const std::string& message) noexcept;

 private:
  friend class OpenCalls;
  struct Node;
  struct Discard {
    void operator()(Node* node) const noexcept;
  };
  using NodePtr = std::unique_ptr<Node, Discard>;

  NodePtr take() noexcept;
  static void send(Node& node, const std::function<void(sdbus::Message&)>& write) noexcept;
  static void send_error(Node& node, const std::string& error_name,
                         const std::string& message) noexcept;

  NodePtr node_;
};

// The open calls of one connection. A message must not outlive its connection, but an OpenCall is
// wherever the answer is made: this knows them all, and empties them at its end.
class OpenCalls {
 public:
  OpenCalls() = default;
  OpenCalls(const OpenCalls&) = delete;
  OpenCalls& operator=(const OpenCalls&) = delete;
  // Answers what is open: the service stops.
  ~OpenCalls();

 private:
  friend class OpenCall;
  OpenCall::Node* first_ = nullptr;
};

}  // namespace corral::dbus
