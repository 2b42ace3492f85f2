#include "model_sequence.h"

namespace corral::test {

using harness::error_of;

void ModelSequence::freeze() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  note("freeze " + run->id);
  for (auto& each : runs_) each.disturb();
  const auto frozen = stack_.client().freeze_run(run->id);
  expect_error(error_of(frozen), {"RunBusy"});
  const auto all = must(stack_.client().run_properties(run->path));
  if (frozen && value<std::string>(all, "State") == "running") {
    EXPECT_TRUE(value<bool>(all, "Frozen"));
  }
}

void ModelSequence::thaw() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  note("thaw " + run->id);
  const auto thawed = stack_.client().thaw_run(run->id);
  expect_error(error_of(thawed), {"RunBusy"});
  const auto all = must(stack_.client().run_properties(run->path));
  if (thawed && value<std::string>(all, "State") == "running") {
    EXPECT_FALSE(value<bool>(all, "Frozen"));
  }
}

void ModelSequence::end() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  Dict given;
  if (one_in(2)) given["GraceUSec"] = milliseconds(60);
  const bool waits = one_in(2);
  if (!waits) given["NoBlock"] = true;
  note(std::string(waits ? "end " : "begin to end ") + run->id);
  run->ask("requested");
  const auto report = stack_.client().end_run(run->id, given);
  expect_error(error_of(report), {observed(*run) ? "Observing" : "none"});
  if (!report || !waits) return;
  EXPECT_EQ(value<std::string>(*report, "State"), "ended");
  EXPECT_FALSE(is_populated(run->group));
  run->told = *report;
}

void ModelSequence::shorten() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  note("begin to end " + run->id + ", and sooner");
  run->ask("requested");
  for (const Dict& given : {Dict{{"GraceUSec", 200 * kMilliseconds}, {"NoBlock", true}},
                            Dict{{"GraceUSec", milliseconds(10)}}}) {
    const auto report = stack_.client().end_run(run->id, given);
    expect_error(error_of(report), {observed(*run) ? "Observing" : "none"});
  }
}

void ModelSequence::end_many() {
  Dict given{{"GraceUSec", milliseconds(30)}};
  const auto what = below(4);
  const bool dry = one_in(4);
  if (what == 0) given["Owner"] = std::string("a");
  if (what == 1) given["State"] = std::string("holding");
  if (what == 2) given["Parent"] = std::string();
  if (dry) given["DryRun"] = true;
  note("end many (" + std::to_string(what) + (dry ? ", dry)" : ")"));
  for (auto& run : runs_) {
    if (!dry && (what != 0 || run.owner == "a")) run.ask("requested");
  }
  for (const auto& row : must(stack_.client().end_runs(given))) {
    const auto outcome = value<std::string>(row, "Outcome");
    const RunModel* run = named(value<std::string>(row, "Id"));
    ASSERT_NE(run, nullptr);
    if (what == 0) {
      EXPECT_EQ(run->owner, "a");
    }
    if (what == 2) {
      EXPECT_EQ(run->parent, "");
    }
    const bool looked_on = observed(*run) && outcome.ends_with(".Observing");
    EXPECT_TRUE(dry ? outcome == "would-end" : looked_on || outcome == "ended")
        << run->id << ": " << outcome;
  }
}

void ModelSequence::kill_supervisor() {
  RunModel* run = some_live();
  if (run == nullptr || run->group.empty()) return;
  const auto group = cgroup::Group::open(AT_FDCWD, run->group + "/init");
  const auto members = group ? cgroup::members(*group) : Result<std::vector<cgroup::Member>>();
  if (!members || members->size() != 1) return;
  note("kill the supervisor of " + run->id);
  run->may_be_unseen = true;
  run->disturb();
  const auto supervisor = cgroup::Pidfd::open(members->front().pid);
  const auto still = group ? cgroup::members(*group) : members;
  // The number is held, and was its own at that moment.
  if (supervisor && still && still->size() == 1 && still->front().pid == supervisor->pid())
    (void)supervisor->signal(SIGKILL);
}

void ModelSequence::kill_driver() {
  RunModel* run = some_live();
  if (run == nullptr || !run->driver_lives()) return;
  note("kill the driver of " + run->id);
  run->kill_driver();
  (void)run->driver->signal(SIGKILL);  // may be gone by now
}

void ModelSequence::kill_opener() {
  for (auto& [id, opener] : openers_) {
    RunModel& run = *named(id);
    if (run.ended()) continue;
    note("kill the opener of " + id);
    run.may_be_unseen = true;
    run.ask("lease-lost");
    return opener->kill();
  }
}

void ModelSequence::replace_spawner() {
  if (spawner_is_gone_) {
    note("start the spawner");
    stack_.start_spawner();
    spawner_is_gone_ = false;
    return;
  }
  note("kill the spawner");
  stack_.kill_spawner();
  spawner_is_gone_ = one_in(3);
  if (!spawner_is_gone_) stack_.start_spawner();
}

void ModelSequence::release() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  const auto rows = stack_.client().list_processes({{"Run", run->id}});
  const auto pids = rows ? column<uint32_t>(*rows, "PID") : std::vector<uint32_t>{};
  if (pids.empty()) return;
  const auto pid = pids[below(pids.size())];
  note("release " + std::to_string(pid) + " from " + run->id);
  run->disturb();
  run->may_keep = true;
  const auto released = stack_.client().release(run->path, {pid});
  expect_error(error_of(released),
               {"RunBusy", "UnixProcessIdUnknown", "InvalidArgs", "ContainmentUnavailable"});
  if (released) ++run->released;
}

void ModelSequence::restart() {
  note("kill the service");
  was_killed_ = true;
  stack_.kill_corrald();
  leases_.clear();
  if (one_in(3)) kill_driver();
  if (one_in(4)) kill_supervisor();
  if (one_in(4)) replace_spawner();
  note("start the service");
  stack_.start_corrald();
  for (auto& run : runs_) run.restart();
}

void ModelSequence::lease() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  run->ask("lease-lost");
  if (one_in(2)) {
    note("take a lease of " + run->id + " for a moment");
    return expect_error(
        error_of(stack_.client().renew_lease(run->id, milliseconds(20) + kMilliseconds)),
        {"RunBusy"});
  }
  auto lease = stack_.client().acquire_lease(run->id, "a test", "");
  const bool held = one_in(2);
  note(std::string(held ? "hold" : "drop") + " a lease of " + run->id);
  expect_error(error_of(lease), {"RunBusy"});
  if (lease && held) leases_.push_back(std::move(*lease));
}

void ModelSequence::switch_enforcement() {
  observing_ = !observing_;
  note(observing_ ? "observe" : "enforce");
  look_at_enforcement();
  must(stack_.client().set_enforcement(observing_ ? "observe" : "enforce"));
  for (auto& run : runs_) run.disturb();
}

void ModelSequence::switch_one() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  const bool observes = !run->own_observe;
  note((observes ? "observe " : "enforce ") + run->id);
  for (auto& each : runs_) each.disturb();
  const auto set = stack_.client().set_run(
      run->id, {{"Enforcement", std::string(observes ? "observe" : "enforce")}});
  expect_error(error_of(set), {"RunBusy"});
  if (!set) return;
  run->own_observe = observes;
  run->was_observed = run->was_observed || observes;
  look_at_enforcement();
}

void ModelSequence::wait() {
  static constexpr const char* kUntil[] = {"driver", "settled", "ended"};
  RunModel* run = some_live();
  if (run == nullptr) return;
  const std::string until = kUntil[below(std::size(kUntil))];
  note("wait for " + run->id + " until " + until);
  const auto status = must(
      stack_.client().wait_run(run->id, {{"Until", until}, {"TimeoutUSec", milliseconds(25)}}));
  EXPECT_TRUE(run->see(value<std::string>(status, "State")));
}

}  // namespace corral::test
