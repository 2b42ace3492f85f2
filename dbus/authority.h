#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "run/fault.h"

namespace corral::dbus {

// What a call wants of a run.
enum class Act {
  see,     // what shows command lines: ListProcesses, ListLeaks, GetReport
  signal,  // SignalRun, SetRun, ForgetRun: acts on it
  freeze,  // stops all of it for a while
  end,     // ends it, or kills all of it
};

// Where the caller's process sits, seen from the run in question.
enum class Position {
  outside,        // in no run at all
  above,          // in a run that this one is nested in, at whatever depth
  inside_this,    // in this very run
  inside_nested,  // in a run that is nested in this one
  inside_other,   // in another run
  unknown,        // its process is gone or cannot be read
};

struct Request {
  Act act = Act::see;
  uint32_t caller_uid = 0;
  uint32_t owner_uid = 0;
  bool system_bus = false;
  Position position = Position::outside;
  std::string run;          // for the message
  bool allow_self = false;  // the caller takes its own end
};

// The rules, in this order: root and the owner's uid may see; to act, on the system bus root alone,
// elsewhere root and the owner's uid (AccessDenied); a caller inside a run may act on nothing but
// that run and those nested in it (NotOwner), and never ends or freezes one that it sits in at
// whatever depth (WouldKillCaller), unless it allows just that. A position that is unknown may not
// act (AccessDenied). Pure.
std::optional<run::Fault> refuse(const Request& request);

}  // namespace corral::dbus
