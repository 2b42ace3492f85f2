#pragma once

#include <optional>
#include <string>

#include "daemon/root.h"
#include "dbus/authority.h"
#include "dbus/calls.h"
#include "run/id.h"
#include "run/report.h"

namespace corral::daemon {

// Who the caller is, for EndedBy: uid, pid, comm and unit, as far as they can be read.
run::Who who(const dbus::Caller& caller);

// Where the caller's process sits: in a run, in none, or not to be told (it exited, or cannot be
// read). `root` may be nullptr: nowhere is a run then.
struct Seat {
  bool known = false;
  std::string why_not;  // where it is not known
  std::optional<run::DirectoryName> run;
};
Seat seat_of(const dbus::Caller& caller, const Root* root);

// The seat as it is seen from one run.
dbus::Position position(const Seat& seat, const run::Invocation& invocation);

}  // namespace corral::daemon
