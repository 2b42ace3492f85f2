#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "run/words.h"

namespace corral::run {

// A run's life in steps. On the wire, settling to closing are all `ending`.
//
//   starting ─► running ─► settling ─► terminating ─► killing ─► closing ─► ended
//                   └────► asking ────────┘
enum class Phase {
  starting,     // its directory exists; the driver has not executed
  running,      // the driver executes
  settling,     // the driver exited by itself; helpers may finish
  asking,       // an end was requested; the driver had the term signal
  terminating,  // everyone left had SIGTERM; grace runs
  killing,      // cgroup.kill was written; waiting for the kernel's word
  closing,  // work/ and runs/ are empty: status and counters are read, the supervisor is let go,
            // the whole is proven
  ended,
};
inline constexpr std::initializer_list<Phase> kPhases = {
    Phase::starting,    Phase::running, Phase::settling, Phase::asking,
    Phase::terminating, Phase::killing, Phase::closing,  Phase::ended};

enum class Event {
  executed,       // the driver executed
  start_failed,   // it could not
  end_requested,  // EndRun
  driver_exited,  // its exit was seen
  moved_away,     // work/ and runs/ are empty, though the driver was not seen to exit
  emptied,        // work/ and runs/ are empty, and the driver's exit was seen
  settle_over,
  half_grace_over,
  grace_over,
  proof_overdue,  // killed, and still populated after the bound
  all_gone,  // nothing is left in the whole directory, and the exit status is known or given up
};
inline constexpr std::initializer_list<Event> kEvents = {
    Event::executed,   Event::start_failed,  Event::end_requested, Event::driver_exited,
    Event::moved_away, Event::emptied,       Event::settle_over,   Event::half_grace_over,
    Event::grace_over, Event::proof_overdue, Event::all_gone};

// What to do, in this order.
enum class Action {
  announce_start,  // reply to StartRun, then RunStarted
  start_settle,    // the settle clock
  start_grace,     // the grace clock, and half of it
  shorten_grace,   // a joining EndRun's grace, where it is shorter
  ask_driver,      // term signal and SIGCONT to the driver
  ask_others,      // snapshot; SIGTERM and SIGCONT once to every other process
  ask_all_frozen,  // freeze, snapshot, SIGTERM and SIGCONT to all while frozen, thaw
  final_snapshot,  // freeze, snapshot
  kill,            // cgroup.kill, and the proof's clock
  walk,            // by pidfd; count and name what is stuck; answer StillPopulated
  note_escape,     // the driver sits outside its run
  close,   // strangers, counters, exit status; let the supervisor go; kill and prove the whole
  finish,  // report final and stored; replies (StartFailed to who still waits for the start),
           // RunEnded; janitor
};

struct Transition {
  Phase to;
  std::vector<Action> actions;
  bool operator==(const Transition&) const = default;
};

// The table: what `event` does to a run in `phase`. An event that means nothing there keeps the
// phase and does nothing (a timer that fired as the kernel answered, a second request). Pure.
Transition next(Phase phase, Event event);

State state_of(Phase phase);
std::string_view name(Phase phase);
std::string_view name(Event event);
std::string_view name(Action action);

}  // namespace corral::run
