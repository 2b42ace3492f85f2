#pragma once

#include <list>
#include <string>

#include "daemon/loop.h"
#include "dbus/calls.h"
#include "run/status.h"

namespace corral::daemon {

// The calls that wait for something of one run. Each is answered once; those still there when this
// goes are dropped unanswered.
class Waiters {
 public:
  explicit Waiters(Loop& loop) : loop_(loop) {}

  // Answered by ended() or fail_ends().
  void for_end(dbus::Reply<run::Report> reply);
  // Answered by look() when the state is there, or with the state of that moment when the time is
  // over. `status` outlives the wait.
  void for_state(const run::Status& status, dbus::WaitOptions options,
                 dbus::Reply<run::Status> reply);

  void look(const run::Status& status);
  void ended(const run::Status& status);
  // All who wait for the end are told that it does not come, or not yet.
  void fail_ends(const run::Fault& fault);

 private:
  struct StateWait {
    dbus::Until until;
    dbus::Reply<run::Status> reply;
    Source overdue;
  };
  Loop& loop_;
  std::list<dbus::Reply<run::Report>> ends_;
  std::list<StateWait> states_;
};

// Whether a run is where the wait wants it.
bool reached(const run::Status& status, dbus::Until until);

}  // namespace corral::daemon
