#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/active_run.h"
#include "daemon/waiters.h"
#include "dbus/calls.h"
#include "run/status.h"

namespace corral::daemon {

// A run that the service knows, live or ended. Its status stays where it is for as long as the
// entry lives.
struct Entry {
  Entry(Loop& loop, run::RunId run_id, run::Invocation run_invocation)
      : id(std::move(run_id)), invocation(std::move(run_invocation)), waiters(loop) {}

  bool ended() const { return status.report.state == run::State::ended; }

  run::RunId id;
  run::Invocation invocation;
  run::Status status;                      // `parent` in it is whom it is nested in
  unsigned nested = 0;                     // runs in it that have not ended
  std::unique_ptr<ActiveRun> run;          // nothing once it has ended
  dbus::Reply<dbus::RunName> start_reply;  // who waits for the start
  Waiters waiters;
};

// Every run by id and invocation. An id may have many invocations, one of them live.
class Registry {
 public:
  // By the start in its status, so that what is found late finds its place.
  Entry& add(std::unique_ptr<Entry> entry);
  void erase(const run::Invocation& invocation);

  // The newest invocation of the id, or the one that was asked for. NoSuchRun, or
  // InvocationMismatch naming the newest.
  run::Answer<Entry*> find(const dbus::RunRef& ref);
  Entry* newest(const run::RunId& id);
  Entry* of(const run::Invocation& invocation);
  // All, oldest first; the list changes with add() and erase().
  const std::vector<Entry*>& all() const { return in_order_; }
  // The run that it is nested in; nullptr for none, or one that was forgotten.
  Entry* parent_of(const Entry& entry);
  // Whether it is nested in that one, at whatever depth.
  bool is_nested(const Entry& entry, const run::Invocation& in);
  size_t live() const { return in_order_.size() - ended_.size(); }

  // The run has ended: it counts against the retention from now on.
  void retire(Entry& entry);
  // The oldest ended one when there are too many, or it is too old; nullptr where nothing is due.
  Entry* overdue(const base::Moment& now, const Config& config);

 private:
  void leave_parent(const Entry& entry);
  std::map<run::Invocation, std::unique_ptr<Entry>> by_invocation_;
  std::map<run::RunId, std::vector<Entry*>> by_id_;  // newest last
  std::vector<Entry*> in_order_;
  std::deque<Entry*> ended_;
};

}  // namespace corral::daemon
