#include "run/state.h"

#include <array>
#include <utility>

namespace corral::run {
namespace {

using enum Phase;
using enum Action;

Transition stay(Phase phase, std::vector<Action> actions = {}) {
  return {phase, std::move(actions)};
}

Transition from_starting(Event event) {
  switch (event) {
    case Event::executed:
      return {running, {announce_start}};
    case Event::start_failed:
      return {closing, {Action::close}};
    case Event::end_requested:
      return {killing, {Action::kill}};
    default:
      return stay(starting);
  }
}

Transition from_running(Event event, Verdict verdict) {
  switch (event) {
    case Event::driver_exited:
      return {settling, {start_settle}};
    case Event::end_requested:
      if (verdict == Verdict::observe) return {holding, {look_on}};
      return {asking, {start_grace, ask_driver}};
    case Event::moved_away:
      return {closing, {note_escape, close}};
    case Event::emptied:  // it never had a driver
      return {closing, {close}};
    default:
      return stay(running);
  }
}

// The driver is gone and has left others.
Transition natural_end(Verdict verdict) {
  switch (verdict) {
    case Verdict::kill:
      return {terminating, {start_grace, ask_all_frozen}};
    case Verdict::freeze:
      return {holding, {hold_frozen, start_hold}};
    case Verdict::report:
      return {holding, {Action::hold, start_hold}};
    case Verdict::observe:
      return {holding, {look_on}};
  }
  return stay(settling);
}

Transition from_settling(Event event, Verdict verdict) {
  switch (event) {
    case Event::emptied:
      return {closing, {close}};
    case Event::settle_over:
    case Event::end_requested:  // who asks has waited enough
      return natural_end(verdict);
    default:
      return stay(settling);
  }
}

Transition from_holding(Event event, Verdict verdict) {
  switch (event) {
    case Event::emptied:
      return {closing, {close}};
    case Event::moved_away:
      return {closing, {note_escape, close}};
    case Event::driver_exited:
      return stay(holding, {look_on});
    case Event::end_requested:
    case Event::switched:
      if (verdict == Verdict::kill) return {asking, {start_grace, ask_driver}};
      if (event == Event::end_requested || verdict == Verdict::observe) return stay(holding);
      return natural_end(verdict);
    default:
      return stay(holding);
  }
}

// While grace runs, whoever was asked.
Transition from_ladder(Phase phase, Event event, Verdict verdict) {
  switch (event) {
    case Event::switched:
      return verdict == Verdict::observe ? Transition{holding, {stand_down}} : stay(phase);
    case Event::emptied:
      return {closing, {close}};
    case Event::grace_over:
      return {killing, {final_snapshot, kill}};
    case Event::moved_away:
      return {closing, {note_escape, close}};
    case Event::end_requested:
      return stay(phase, {shorten_grace});
    default:
      return stay(phase);
  }
}

Transition from_asking(Event event, Verdict verdict) {
  if (event == Event::driver_exited || event == Event::half_grace_over)
    return {terminating, {ask_others}};
  return from_ladder(asking, event, verdict);
}

Transition from_killing(Event event) {
  switch (event) {
    case Event::emptied:
      return {closing, {close}};
    case Event::moved_away:
      return {closing, {note_escape, close}};
    case Event::executed:
      return stay(killing, {Action::kill});  // born after the kill that was meant for it
    case Event::proof_overdue:
      return stay(killing, {walk});
    default:
      return stay(killing);
  }
}

Transition from_closing(Event event) {
  switch (event) {
    case Event::all_gone:
      return {ended, {finish}};
    case Event::proof_overdue:
      return stay(closing, {walk});
    default:
      return stay(closing);
  }
}

}  // namespace

Transition next(Phase phase, Event event, Verdict verdict) {
  switch (phase) {
    case starting:
      return from_starting(event);
    case running:
      return from_running(event, verdict);
    case settling:
      return from_settling(event, verdict);
    case holding:
      return from_holding(event, verdict);
    case asking:
      return from_asking(event, verdict);
    case terminating:
      return from_ladder(terminating, event, verdict);
    case killing:
      return from_killing(event);
    case closing:
      return from_closing(event);
    case ended:
      return stay(ended);
  }
  return stay(phase);
}

State state_of(Phase phase) {
  switch (phase) {
    case starting:
      return State::starting;
    case running:
      return State::running;
    case holding:
      return State::holding;
    case ended:
      return State::ended;
    default:
      return State::ending;
  }
}

std::string_view name(Phase phase) {
  switch (phase) {
    case starting:
      return "starting";
    case running:
      return "running";
    case settling:
      return "settling";
    case holding:
      return "holding";
    case asking:
      return "asking";
    case terminating:
      return "terminating";
    case killing:
      return "killing";
    case closing:
      return "closing";
    case ended:
      return "ended";
  }
  return "?";
}

std::string_view name(Event event) {
  switch (event) {
    case Event::executed:
      return "executed";
    case Event::start_failed:
      return "start-failed";
    case Event::end_requested:
      return "end-requested";
    case Event::driver_exited:
      return "driver-exited";
    case Event::moved_away:
      return "moved-away";
    case Event::emptied:
      return "emptied";
    case Event::settle_over:
      return "settle-over";
    case Event::half_grace_over:
      return "half-grace-over";
    case Event::grace_over:
      return "grace-over";
    case Event::switched:
      return "switched";
    case Event::proof_overdue:
      return "proof-overdue";
    case Event::all_gone:
      return "all-gone";
  }
  return "?";
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kill:
      return "kill";
    case Verdict::freeze:
      return "freeze";
    case Verdict::report:
      return "report";
    case Verdict::observe:
      return "observe";
  }
  return "?";
}

std::string_view name(Action action) {
  // In the order of the enumerators.
  static constexpr std::array<std::string_view, kActions> kNames = {
      "announce-start", "start-settle", "start-grace", "shorten-grace", "ask-driver", "ask-others",
      "ask-all-frozen", "hold-frozen",  "hold",        "look-on",       "stand-down", "start-hold",
      "final-snapshot", "kill",         "walk",        "note-escape",   "close",      "finish"};
  static_assert(!kNames.back().empty());
  return kNames.at(static_cast<size_t>(action));
}

}  // namespace corral::run
