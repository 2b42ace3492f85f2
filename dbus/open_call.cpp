#include "dbus/open_call.h"

#include <sdbus-c++/Error.h>

#include <exception>
#include <utility>

#include "base/escape.h"
#include "base/log.h"
#include "dbus/errors.h"
#include "dbus/guard.h"

namespace corral::dbus {

struct OpenCall::Node {
  sdbus::MethodCall message;
  std::string name;
  OpenCalls* all;  // nullptr once the connection is gone
  Node* next;
  Node* previous;
};

void OpenCall::Discard::operator()(Node* node) const noexcept {
  if (node->all != nullptr) {
    (node->previous != nullptr ? node->previous->next : node->all->first_) = node->next;
    if (node->next != nullptr) node->next->previous = node->previous;
  }
  delete node;
}

OpenCall::OpenCall(OpenCalls& all, const sdbus::MethodCall& message, std::string name)
    : node_(new Node{message, std::move(name), &all, all.first_, nullptr}) {
  if (all.first_ != nullptr) all.first_->previous = node_.get();
  all.first_ = node_.get();
}

OpenCall::~OpenCall() {
  if (!node_) return;
  fail(kErrorFailed, node_->name + ": the service dropped the call; its log says why");
}

OpenCall::NodePtr OpenCall::take() noexcept {
  if (node_ && node_->all == nullptr) node_.reset();
  return std::move(node_);
}

void OpenCall::refuse(const run::Fault& fault) noexcept {
  fail(error_name(fault.kind), fault.message);
}

void OpenCall::fail(const std::string& error_name, const std::string& message) noexcept {
  if (auto node = take()) send_error(*node, error_name, message);
}

void OpenCall::send(Node& node, const std::function<void(sdbus::Message&)>& write) noexcept {
  try {
    auto reply = node.message.createReply();
    write(reply);
    reply.send();
  } catch (...) {
    const auto error = current_error(node.name);
    log(Level::warning, "reply to {}: {}", node.name, error.getMessage());
    send_error(node, kErrorFailed, node.name + ": cannot send the reply: " + error.getMessage());
  }
}

void OpenCall::send_error(Node& node, const std::string& error_name,
                          const std::string& message) noexcept {
  try {
    const bool fit = base::is_utf8(message);
    const sdbus::Error error(error_name, fit ? message : base::escape(message));
    node.message.createErrorReply(error).send();
  } catch (const std::exception& error) {
    log(Level::warning, "error reply to {}: {}", node.name, error.what());
  }
}

OpenCalls::~OpenCalls() {
  while (first_ != nullptr) {
    auto* node = std::exchange(first_, first_->next);
    OpenCall::send_error(*node, "org.freedesktop.DBus.Error.NoReply",
                         node->name + ": the service stops; ask again when it is back");
    node->message = {};
    node->all = nullptr;
  }
}

}  // namespace corral::dbus
