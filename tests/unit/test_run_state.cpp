#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "run/state.h"

namespace corral::run {

void PrintTo(const Transition& transition, std::ostream* out) {
  *out << "to " << name(transition.to);
  for (const Action action : transition.actions) *out << ", " << name(action);
}

namespace {

using enum Phase;
using E = Event;
using A = Action;
using V = Verdict;

// Every event that means something in a phase, where nothing spares the processes. All others keep
// the phase and do nothing.
const std::map<std::pair<Phase, Event>, Transition> kTable = {
    {{starting, E::executed}, {running, {A::announce_start}}},
    {{starting, E::start_failed}, {closing, {A::close}}},
    {{starting, E::end_requested}, {killing, {A::kill}}},

    {{running, E::driver_exited}, {settling, {A::start_settle}}},
    {{running, E::end_requested}, {asking, {A::start_grace, A::ask_driver}}},
    {{running, E::moved_away}, {closing, {A::note_escape, A::close}}},
    {{running, E::emptied}, {closing, {A::close}}},

    {{settling, E::emptied}, {closing, {A::close}}},
    {{settling, E::settle_over}, {terminating, {A::start_grace, A::ask_all_frozen}}},
    {{settling, E::end_requested}, {terminating, {A::start_grace, A::ask_all_frozen}}},

    {{holding, E::emptied}, {closing, {A::close}}},
    {{holding, E::moved_away}, {closing, {A::note_escape, A::close}}},
    {{holding, E::driver_exited}, {holding, {A::look_on}}},
    {{holding, E::end_requested}, {asking, {A::start_grace, A::ask_driver}}},
    {{holding, E::switched}, {asking, {A::start_grace, A::ask_driver}}},

    {{asking, E::emptied}, {closing, {A::close}}},
    {{asking, E::driver_exited}, {terminating, {A::ask_others}}},
    {{asking, E::half_grace_over}, {terminating, {A::ask_others}}},
    {{asking, E::grace_over}, {killing, {A::final_snapshot, A::kill}}},
    {{asking, E::moved_away}, {closing, {A::note_escape, A::close}}},
    {{asking, E::end_requested}, {asking, {A::shorten_grace}}},

    {{terminating, E::emptied}, {closing, {A::close}}},
    {{terminating, E::grace_over}, {killing, {A::final_snapshot, A::kill}}},
    {{terminating, E::moved_away}, {closing, {A::note_escape, A::close}}},
    {{terminating, E::end_requested}, {terminating, {A::shorten_grace}}},

    {{killing, E::emptied}, {closing, {A::close}}},
    {{killing, E::moved_away}, {closing, {A::note_escape, A::close}}},
    {{killing, E::executed}, {killing, {A::kill}}},
    {{killing, E::proof_overdue}, {killing, {A::walk}}},

    {{closing, E::all_gone}, {ended, {A::finish}}},
    {{closing, E::proof_overdue}, {closing, {A::walk}}},
};

// What else a verdict makes of it.
const std::map<std::tuple<Phase, Event, Verdict>, Transition> kSpared = {
    {{settling, E::settle_over, V::freeze}, {holding, {A::hold_frozen, A::start_hold}}},
    {{settling, E::end_requested, V::freeze}, {holding, {A::hold_frozen, A::start_hold}}},
    {{settling, E::settle_over, V::report}, {holding, {A::hold, A::start_hold}}},
    {{settling, E::end_requested, V::report}, {holding, {A::hold, A::start_hold}}},
    {{settling, E::settle_over, V::observe}, {holding, {A::look_on}}},
    {{settling, E::end_requested, V::observe}, {holding, {A::look_on}}},
    {{running, E::end_requested, V::observe}, {holding, {A::look_on}}},
    {{holding, E::end_requested, V::freeze}, {holding, {}}},
    {{holding, E::end_requested, V::report}, {holding, {}}},
    {{holding, E::end_requested, V::observe}, {holding, {}}},
    {{holding, E::switched, V::freeze}, {holding, {A::hold_frozen, A::start_hold}}},
    {{holding, E::switched, V::report}, {holding, {A::hold, A::start_hold}}},
    {{holding, E::switched, V::observe}, {holding, {}}},
    {{asking, E::switched, V::observe}, {holding, {A::stand_down}}},
    {{terminating, E::switched, V::observe}, {holding, {A::stand_down}}},
};

Transition expected(Phase phase, Event event, Verdict verdict) {
  const auto spared = kSpared.find({phase, event, verdict});
  if (spared != kSpared.end()) return spared->second;
  const auto row = kTable.find({phase, event});
  return row == kTable.end() ? Transition{phase, {}} : row->second;
}

// Calls f(phase, event, verdict) with each combination there is.
template <typename F>
void each_row(const F& f) {
  for (const Phase phase : kPhases)
    for (const Event event : kEvents)
      for (const Verdict verdict : kVerdicts) f(phase, event, verdict);
}

TEST(StateTable, DoesWithEveryEventInEveryPhaseWhatIsWrittenHere) {
  each_row([](Phase phase, Event event, Verdict verdict) {
    EXPECT_EQ(next(phase, event, verdict), expected(phase, event, verdict))
        << name(phase) << " + " << name(event) << ", " << name(verdict);
  });
}

TEST(StateTable, GoesBackOnlyToHoldWhatIsNotToBeKilledAnyMore) {
  each_row([](Phase phase, Event event, Verdict verdict) {
    const Phase to = next(phase, event, verdict).to;
    if (to >= phase) return;
    EXPECT_EQ(to, holding) << name(phase) << " + " << name(event);
    EXPECT_EQ(event, E::switched);
    EXPECT_EQ(verdict, V::observe);
  });
}

TEST(StateTable, NeitherSignalsNorFreezesWhereItOnlyLooksOn) {
  // The grace that killed is over, and one that never ran has nothing to lose.
  const std::set<Phase> committed = {starting, killing, closing};
  each_row([&](Phase phase, Event event, Verdict verdict) {
    if (verdict != V::observe || committed.contains(phase)) return;
    if (phase == asking || phase == terminating) return;  // not reached: `switched` came before
    for (const Action action : next(phase, event, verdict).actions)
      EXPECT_THAT((std::set{A::ask_driver, A::ask_others, A::ask_all_frozen, A::hold_frozen,
                            A::hold, A::kill, A::final_snapshot}),
                  testing::Not(testing::Contains(action)))
          << name(phase) << " + " << name(event);
  });
}

TEST(StateTable, LeavesClosingForEndedOnlyAndEndedNever) {
  each_row([](Phase phase, Event event, Verdict verdict) {
    const Phase to = next(phase, event, verdict).to;
    if (phase == closing) {
      EXPECT_TRUE(to == closing || to == ended) << name(event);
    }
    if (phase == ended) {
      EXPECT_EQ(next(ended, event, verdict), (Transition{ended, {}}));
    }
  });
}

TEST(StateTable, KillsWheneverItEntersKilling) {
  each_row([](Phase phase, Event event, Verdict verdict) {
    const Transition transition = next(phase, event, verdict);
    if (phase == killing || transition.to != killing) return;
    EXPECT_THAT(transition.actions, testing::Contains(A::kill)) << name(phase);
  });
}

TEST(StateTable, SaysEndedOnlyAfterTheWholeWasClosedAndProven) {
  each_row([](Phase phase, Event event, Verdict verdict) {
    const Transition transition = next(phase, event, verdict);
    if (phase == ended || transition.to != ended) return;
    EXPECT_EQ(phase, closing);
    EXPECT_EQ(event, E::all_gone);
  });
}

bool reaches_ended(Phase phase, Verdict verdict) {
  if (phase == ended) return true;
  return std::ranges::any_of(kEvents, [&](Event event) {
    const Phase to = next(phase, event, verdict).to;
    return to > phase && reaches_ended(to, verdict);
  });
}

TEST(StateTable, LeadsToEndedFromEveryPhase) {
  for (const Phase phase : kPhases)
    for (const Verdict verdict : kVerdicts)
      EXPECT_TRUE(reaches_ended(phase, verdict)) << name(phase) << ", " << name(verdict);
}

using Counts = std::map<Action, int>;

// Calls `at_end` with how often each action was done on every way from `phase` to ended, where
// processes get what `verdict` says until they are held, and are killed after that. In each phase
// every event that does not leave it comes twice.
template <typename F>
void walk_paths(Phase phase, Verdict verdict, Counts counts, const F& at_end) {
  if (phase == ended) return at_end(counts);
  const Verdict now = phase < holding ? verdict : V::kill;
  for (const Event event : kEvents) {
    const Transition transition = next(phase, event, now);
    if (transition.to != phase) continue;
    for (const Action action : transition.actions) counts[action] += 2;
  }
  for (const Event event : kEvents) {
    const Transition transition = next(phase, event, now);
    if (transition.to == phase) continue;
    Counts further = counts;
    for (const Action action : transition.actions) ++further[action];
    walk_paths(transition.to, verdict, further, at_end);
  }
}

TEST(StateTable, AsksNobodyTwiceOnAnyPath) {
  int paths = 0;
  for (const Verdict verdict : kVerdicts) {
    walk_paths(starting, verdict, {}, [&](Counts& counts) {
      ++paths;
      EXPECT_LE(counts[A::ask_driver], 1);
      EXPECT_LE(counts[A::ask_others] + counts[A::ask_all_frozen], 1);
      // The driver is one of "all": it must not have been asked before.
      EXPECT_LE(counts[A::ask_driver] + counts[A::ask_all_frozen], 1);
    });
  }
  EXPECT_GT(paths, 40);
}

TEST(StateTable, ClosesAndFinishesExactlyOnceOnEveryPath) {
  for (const Verdict verdict : kVerdicts) {
    walk_paths(starting, verdict, {}, [](Counts& counts) {
      EXPECT_EQ(counts[A::close], 1);
      EXPECT_EQ(counts[A::finish], 1);
      EXPECT_LE(counts[A::announce_start], 1);
      EXPECT_LE(counts[A::note_escape], 1);
      EXPECT_LE(counts[A::start_grace], 1);
      EXPECT_LE(counts[A::start_settle], 1);
      EXPECT_LE(counts[A::start_hold], 1);
      EXPECT_LE(counts[A::final_snapshot], 1);
    });
  }
}

TEST(StateTable, ShowsOneStateForEachPhase) {
  const std::map<Phase, State> states = {
      {starting, State::starting}, {running, State::running}, {settling, State::ending},
      {holding, State::holding},   {asking, State::ending},   {terminating, State::ending},
      {killing, State::ending},    {closing, State::ending},  {ended, State::ended}};
  EXPECT_EQ(states.size(), kPhases.size());
  for (const Phase phase : kPhases) EXPECT_EQ(state_of(phase), states.at(phase)) << name(phase);
}

template <typename Enum>
void expect_names_apart(const std::set<Enum>& values) {
  std::set<std::string_view> names;
  for (const Enum value : values) {
    EXPECT_NE(name(value), "?");
    names.insert(name(value));
  }
  EXPECT_EQ(names.size(), values.size());
}

TEST(StateTable, NamesEachPhaseEventAndAction) {
  expect_names_apart(std::set<Phase>(kPhases));
  expect_names_apart(std::set<Event>(kEvents));
  expect_names_apart(std::set<Verdict>(kVerdicts));
  std::set<Action> actions;
  for (int i = 0; i <= static_cast<int>(A::finish); ++i) actions.insert(static_cast<Action>(i));
  expect_names_apart(actions);
}

}  // namespace
}  // namespace corral::run
