#pragma once

#include <sdbus-c++/Message.h>

#include "base/callback.h"
#include "dbus/callers.h"
#include "dbus/calls.h"
#include "dbus/open_call.h"
#include "run/fault.h"

namespace corral::dbus {

// Whether a call is answered even where the bus daemon does not say who calls.
enum class Needs { nothing, identity };

// Answers a call whose reply is empty.
void reply(OpenCall& call, const run::Answer<void>& answer);
// With a run's object, id and invocation.
void reply_name(OpenCall& call, const run::Answer<RunName>& answer);

// The way of every method call into the service, whatever its object.
class Incoming {
 public:
  using Body = base::Callback<void(OpenCall&, const Caller&)>;

  // Both are borrowed.
  Incoming(OpenCalls& open_calls, Callers& callers) : open_calls_(open_calls), callers_(callers) {}

  // Runs `body` once the caller is known; never throws what sdbus-c++ cannot take. `message` is the
  // call that is being handled.
  void receive(const sdbus::Message& message, const char* name, Needs needs, Body body);

 private:
  OpenCalls& open_calls_;
  Callers& callers_;
};

}  // namespace corral::dbus
