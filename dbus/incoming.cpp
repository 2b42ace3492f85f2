#include "dbus/incoming.h"

#include "dbus/paths.h"

#include <fmt/format.h>

#include <utility>

#include "dbus/guard.h"

namespace corral::dbus {
namespace {

// Where the bus daemon does not say who calls: no uid that anything belongs to.
constexpr uint32_t kNobody = UINT32_MAX;

}  // namespace

void reply(OpenCall& call, const run::Answer<void>& answer) {
  if (!answer) return call.refuse(answer.error());
  call.answer([](sdbus::Message&) {});
}

void reply_name(OpenCall& call, const run::Answer<RunName>& answer) {
  if (!answer) return call.refuse(answer.error());
  call.answer([&](sdbus::Message& message) {
    message << sdbus::ObjectPath(run_path(answer->id.text(), answer->invocation.text()))
            << answer->id.text() << answer->invocation.text();
  });
}

void Incoming::receive(const sdbus::Message& message, const char* name, Needs needs, Body body) {
  guarded(name, [&] {
    // The message that sdbus-c++ holds is the MethodCall; a copy is a reference.
    const auto& method_call = static_cast<const sdbus::MethodCall&>(message);
    const Caller unknown{.sender = message.getSender(), .uid = kNobody};
    callers_.identify(unknown.sender, [unknown, name, needs, body = std::move(body),
                                       call = OpenCall(open_calls_, method_call, name)](
                                          const Caller* caller) mutable {
      if (caller == nullptr && needs == Needs::identity) {
        return call.refuse({run::FaultKind::access_denied,
                            fmt::format("{}: the message bus does not say who calls", name)});
      }
      try {
        body(call, caller != nullptr ? *caller : unknown);
      } catch (...) {
        const auto error = current_error(name);
        call.fail(error.getName(), error.getMessage());  // nothing where the body took the call on
      }
    });
  });
}

}  // namespace corral::dbus
