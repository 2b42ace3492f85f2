#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "run/words.h"

namespace corral::run {

// A run's life in steps. On the wire, settling to closing are all `ending`, holding excepted.
//
//   starting ─► running ─► settling ─► terminating ─► killing ─► closing ─► ended
//                  │           └► holding     ▲
//                  └────► asking ◄────┘ └─────┘
enum class Phase {
  starting,     // its directory exists; the driver has not executed
  running,      // the driver executes
  settling,     // the driver exited by itself; helpers may finish
  holding,      // its processes are left in place, until they go or an end is due
  asking,       // an end was requested; the driver had the term signal
  terminating,  // everyone left had SIGTERM; grace runs
  killing,      // cgroup.kill was written; waiting for the kernel's word
  closing,  // work/ and runs/ are empty: status and counters are read, the supervisor is let go,
            // the whole is proven
  ended,
};
inline constexpr std::initializer_list<Phase> kPhases = {
    Phase::starting,    Phase::running, Phase::settling, Phase::holding, Phase::asking,
    Phase::terminating, Phase::killing, Phase::closing,  Phase::ended};

// What an end is to do with the processes that it meets: kill them, hold them frozen, hold them as
// they are, or only look on (Enforcement::observe).
enum class Verdict { kill, freeze, report, observe };
inline constexpr std::initializer_list<Verdict> kVerdicts = {Verdict::kill, Verdict::freeze,
                                                             Verdict::report, Verdict::observe};

enum class Event {
  executed,       // the driver executed
  start_failed,   // it could not
  end_requested,  // EndRun, a deadline, a lost lease, the parent's end, HoldMaxUSec
  driver_exited,  // its exit was seen
  moved_away,     // work/ and runs/ are empty, though the driver was not seen to exit
  emptied,        // work/ and runs/ are empty, and the driver's exit was seen (or there was none)
  settle_over,
  half_grace_over,
  grace_over,
  switched,       // enforcement may have changed
  proof_overdue,  // killed, and still populated after the bound
  all_gone,  // nothing is left in the whole directory, and the exit status is known or given up
};
inline constexpr std::initializer_list<Event> kEvents = {
    Event::executed,   Event::start_failed, Event::end_requested, Event::driver_exited,
    Event::moved_away, Event::emptied,      Event::settle_over,   Event::half_grace_over,
    Event::grace_over, Event::switched,     Event::proof_overdue, Event::all_gone};

// What to do, in this order.
enum class Action {
  announce_start,  // reply to StartRun, then RunStarted
  start_settle,    // the settle clock
  start_grace,     // the grace clock, and half of it
  shorten_grace,   // a joining EndRun's grace, where it is shorter
  ask_driver,      // term signal and SIGCONT to the driver; where it is gone: driver_exited
  ask_others,      // snapshot; SIGTERM and SIGCONT once to every other process
  ask_all_frozen,  // freeze, snapshot, SIGTERM and SIGCONT to all while frozen, thaw
  hold_frozen,     // freeze, snapshot; stays frozen
  hold,            // freeze, snapshot, thaw
  look_on,         // snapshot as things are
  stand_down,      // no more clocks; thaw, and snapshot as things are
  start_hold,      // the clock of HoldMaxUSec
  final_snapshot,  // freeze, snapshot
  kill,            // cgroup.kill, and the proof's clock
  walk,            // by pidfd; count and name what is stuck; answer StillPopulated
  note_escape,     // the driver sits outside its run
  close,   // strangers, counters, exit status; let the supervisor go; kill and prove the whole
  finish,  // report final and stored; replies (StartFailed to who still waits for the start),
           // RunEnded; janitor
};

inline constexpr size_t kActions = static_cast<size_t>(Action::finish) + 1;

struct Transition {
  Phase to;
  std::vector<Action> actions;
  bool operator==(const Transition&) const = default;
};

// The table: what `event` does to a run in `phase`, where its end is to do what `verdict` says. An
// event that means nothing there keeps the phase and does nothing (a timer that fired as the kernel
// answered, a second request). Pure.
Transition next(Phase phase, Event event, Verdict verdict);

State state_of(Phase phase);
std::string_view name(Phase phase);
std::string_view name(Event event);
std::string_view name(Verdict verdict);
std::string_view name(Action action);

}  // namespace corral::run
