#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
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

// Every event that means something in a phase. All others keep the phase and do nothing.
const std::map<std::pair<Phase, Event>, Transition> kTable = {
    {{starting, E::executed}, {running, {A::announce_start}}},
    {{starting, E::start_failed}, {closing, {A::close}}},
    {{starting, E::end_requested}, {killing, {A::kill}}},

    {{running, E::driver_exited}, {settling, {A::start_settle}}},
    {{running, E::end_requested}, {asking, {A::start_grace, A::ask_driver}}},
    {{running, E::moved_away}, {closing, {A::note_escape, A::close}}},

    {{settling, E::emptied}, {closing, {A::close}}},
    {{settling, E::settle_over}, {terminating, {A::start_grace, A::ask_all_frozen}}},
    {{settling, E::end_requested}, {terminating, {A::start_grace, A::ask_all_frozen}}},

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

Transition expected(Phase phase, Event event) {
  const auto row = kTable.find({phase, event});
  return row == kTable.end() ? Transition{phase, {}} : row->second;
}

TEST(StateTable, DoesWithEveryEventInEveryPhaseWhatIsWrittenHere) {
  for (const Phase phase : kPhases) {
    for (const Event event : kEvents)
      EXPECT_EQ(next(phase, event), expected(phase, event)) << name(phase) << " + " << name(event);
  }
}

TEST(StateTable, NeverGoesBack) {
  for (const Phase phase : kPhases) {
    for (const Event event : kEvents)
      EXPECT_GE(next(phase, event).to, phase) << name(phase) << " + " << name(event);
  }
}

TEST(StateTable, LeavesClosingForEndedOnlyAndEndedNever) {
  for (const Event event : kEvents) {
    const Phase to = next(closing, event).to;
    EXPECT_TRUE(to == closing || to == ended) << name(event);
    EXPECT_EQ(next(ended, event), (Transition{ended, {}})) << name(event);
  }
}

TEST(StateTable, KillsWheneverItEntersKilling) {
  for (const Phase phase : kPhases) {
    for (const Event event : kEvents) {
      const Transition transition = next(phase, event);
      if (phase == killing || transition.to != killing) continue;
      EXPECT_THAT(transition.actions, testing::Contains(A::kill)) << name(phase);
    }
  }
}

TEST(StateTable, SaysEndedOnlyAfterTheWholeWasClosedAndProven) {
  for (const Phase phase : kPhases) {
    for (const Event event : kEvents) {
      const Transition transition = next(phase, event);
      if (phase == ended || transition.to != ended) continue;
      EXPECT_EQ(phase, closing);
      EXPECT_EQ(event, E::all_gone);
    }
  }
}

bool reaches_ended(Phase phase) {
  if (phase == ended) return true;
  return std::ranges::any_of(kEvents, [&](Event event) {
    const Phase to = next(phase, event).to;
    return to != phase && reaches_ended(to);
  });
}

TEST(StateTable, LeadsToEndedFromEveryPhase) {
  for (const Phase phase : kPhases) EXPECT_TRUE(reaches_ended(phase)) << name(phase);
}

using Counts = std::map<Action, int>;

// Calls `at_end` with how often each action was done on every way from `phase` to ended. In each
// phase every event that does not leave it comes twice.
template <typename F>
void walk_paths(Phase phase, Counts counts, const F& at_end) {
  if (phase == ended) return at_end(counts);
  for (const Event event : kEvents) {
    const Transition transition = next(phase, event);
    if (transition.to != phase) continue;
    for (const Action action : transition.actions) counts[action] += 2;
  }
  for (const Event event : kEvents) {
    const Transition transition = next(phase, event);
    if (transition.to == phase) continue;
    Counts further = counts;
    for (const Action action : transition.actions) ++further[action];
    walk_paths(transition.to, further, at_end);
  }
}

TEST(StateTable, AsksNobodyTwiceOnAnyPath) {
  int paths = 0;
  walk_paths(starting, {}, [&](Counts& counts) {
    ++paths;
    EXPECT_LE(counts[A::ask_driver], 1);
    EXPECT_LE(counts[A::ask_others] + counts[A::ask_all_frozen], 1);
    // The driver is one of "all": it must not have been asked before.
    EXPECT_LE(counts[A::ask_driver] + counts[A::ask_all_frozen], 1);
  });
  EXPECT_GT(paths, 10);
}

TEST(StateTable, ClosesAndFinishesExactlyOnceOnEveryPath) {
  walk_paths(starting, {}, [](Counts& counts) {
    EXPECT_EQ(counts[A::close], 1);
    EXPECT_EQ(counts[A::finish], 1);
    EXPECT_LE(counts[A::announce_start], 1);
    EXPECT_LE(counts[A::note_escape], 1);
    EXPECT_LE(counts[A::start_grace], 1);
    EXPECT_LE(counts[A::start_settle], 1);
    EXPECT_LE(counts[A::final_snapshot], 1);
  });
}

TEST(StateTable, ShowsOneStateForEachPhase) {
  const std::map<Phase, State> states = {{starting, State::starting},  {running, State::running},
                                         {settling, State::ending},    {asking, State::ending},
                                         {terminating, State::ending}, {killing, State::ending},
                                         {closing, State::ending},     {ended, State::ended}};
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
  std::set<Action> actions;
  for (int i = 0; i <= static_cast<int>(A::finish); ++i) actions.insert(static_cast<Action>(i));
  expect_names_apart(actions);
}

}  // namespace
}  // namespace corral::run
