#pragma once

#include <optional>
#include <string>

#include "daemon/root.h"
#include "dbus/calls.h"
#include "run/id.h"
#include "run/report.h"

namespace corral::daemon {

// Who the caller is, for EndedBy: uid, pid, comm and unit, as far as they can be read.
run::Who who(const dbus::Caller& caller);

// Whether the caller's process has exited, or cannot be told.
bool has_exited(const dbus::Caller& caller);
// Whether a pid that the caller names means to us what it means to it.
bool same_pid_namespace(const dbus::Caller& caller);

// Where the caller's process sits: in a run, in none, or not to be told (it exited, or cannot be
// read). `root` may be nullptr: nowhere is a run then.
struct Seat {
  bool known = false;
  std::string why_not;  // where it is not known
  std::optional<run::DirectoryName> run;
};
Seat seat_of(const dbus::Caller& caller, const Root* root);

}  // namespace corral::daemon
