#include <poll.h>
#include <sys/wait.h>

#include "cgroup/clone.h"
#include "cgroup/mount.h"
#include "model_sequence.h"

namespace corral::test {
namespace {

using harness::error_of;

const Shape& a_shape(uint64_t number) {
  return shapes()[number % shapes().size()];
}

}  // namespace

Dict ModelSequence::options(RunModel& run) {
  static constexpr const char* kPolicies[] = {"kill", "kill", "kill", "freeze", "report"};
  run.id = prefix_ + std::to_string(runs_.size() + pending_.size());
  run.owner = one_in(2) ? "a" : "b";
  run.policy = kPolicies[below(std::size(kPolicies))];
  Dict options{{"Environment", std::vector<std::string>{"PATH=/usr/bin:/bin"}},
               {"Owner", run.owner},
               {"OnDriverExit", run.policy},
               {"SettleUSec", milliseconds(10)},
               {"GraceUSec", milliseconds(one_in(2) ? 100 : 10)}};
  if (one_in(10)) {
    options["RuntimeMaxUSec"] = milliseconds(50) + kMilliseconds;
    run.reasons.insert("deadline");
  }
  if (run.policy != "kill" && one_in(4)) options["HoldMaxUSec"] = milliseconds(50) + kMilliseconds;
  if (run.policy != "report" && one_in(8)) options["Keep"] = std::vector<std::string>{"/*/sleep"};
  run.own_observe = run.was_observed = one_in(12);
  if (run.own_observe) options["Enforcement"] = std::string("observe");
  run.may_hold = run.policy != "kill" || run.own_observe || observing_;
  return options;
}

void ModelSequence::tie(RunModel& run, const RunModel* parent) {
  if (parent == nullptr) return;
  run.parent = parent->id;
  run.reasons.insert("parent-ended");
  run.may_hold = run.may_hold || observed(*parent);
}

// The run is there. What it was given may end it at any time.
RunModel& ModelSequence::add(RunModel run, const std::string& path, const std::string& invocation) {
  run.path = path;
  run.invocation = invocation;
  const auto all = must(stack_.client().run_properties(path));
  if (run.state.empty()) run.state = "running";
  if (const auto group = value<std::string>(all, "ControlGroup"); !group.empty()) {
    const auto root = stack_.root_control_group();
    run.group = stack_.root() + group.substr(root.size());
    const auto pid = static_cast<pid_t>(value<uint32_t>(all, "DriverPID"));
    auto driver = cgroup::Pidfd::open(pid);
    // Not one that came under its number since.
    const auto where = driver ? cgroup::path_of(pid) : Result<std::string>(Error{"none", 0});
    if (where && where->starts_with(group) && !driver->exited()) run.driver = std::move(*driver);
  }
  if (run.reasons.contains("deadline") || run.reasons.contains("parent-ended")) {
    run.quiet = false;
    run.may_be_asked();
  }
  runs_.push_back(std::move(run));
  return runs_.back();
}

void ModelSequence::started(RunModel run, const Shape& shape, bool is_ready) {
  run.shape(shape);
  run.ignores_term = run.ignores_term && is_ready;
  const auto named = must(stack_.client().get_run(run.id));
  add(std::move(run), named.path, named.invocation);
}

void ModelSequence::refused(RunModel run, const std::string& error) {
  const auto known = stack_.client().get_run(run.id);
  EXPECT_EQ(known.has_value(), error.ends_with(".StartFailed")) << error;
  if (!known) return;
  run.unstarted = true;
  if (!run.parent.empty()) run.may_be_asked();  // born, and not told any more
  run.state = "ended";
  add(std::move(run), known->path, known->invocation);
}

void ModelSequence::start() {
  RunModel run;
  const Shape& shape = a_shape(random_());
  auto given = options(run);
  if (RunModel* parent = one_in(4) ? some_live() : nullptr) {
    tie(run, parent);
    given["Parent"] = parent->id;
  }
  note("start " + run.id + " (" + shape.name + ", " + run.policy + ") in " + run.parent);
  Pipe output;
  if (shape.ready) given["StandardOutput"] = output.write_end();
  const auto error = error_of(stack_.client().start_run(run.id, shape.argv, given));
  output.close_write();
  if (!error.empty()) {
    if (run.parent.empty()) expect_error(error, {spawner_is_gone_ ? "StartFailed" : "none"});
    if (!run.parent.empty()) expect_error(error, {"StartFailed", "RunBusy"});
    return refused(std::move(run), error);
  }
  EXPECT_FALSE(spawner_is_gone_);
  started(std::move(run), shape, shape.ready && output.read() == "ready\n");
}

void ModelSequence::open() {
  RunModel run;
  const Shape& shape = a_shape(random_());
  auto given = options(run);
  given.erase("Environment");
  if (RunModel* parent = one_in(4) ? some_live() : nullptr) {
    tie(run, parent);
    given["Parent"] = parent->id;
  }
  note("open " + run.id + " (" + shape.name + ", " + run.policy + ") in " + run.parent);
  auto opener = std::make_unique<Opener>(stack_.address(), run.id, shape.argv, given);
  if (!opener->refused().empty()) return expect_error(opener->refused(), {"RunBusy"});
  const auto opened = opener->opened();
  run.shape(shape);
  run.ignores_term = false;  // it may be asked before it is ready
  if (opener->driver() == 0) {
    note("it has no driver");
    run.unstarted = true;
    run.state = "starting";
  }
  openers_[run.id] = std::move(opener);
  add(std::move(run), opened.path, opened.invocation);
}

std::string ModelSequence::call_inside(const std::string& work, const std::string& id,
                                       const Shape& shape, const Dict& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const UniqueFd answer(ends[0]);
  UniqueFd told(ends[1]);
  const auto group = cgroup::Group::open(AT_FDCWD, work);
  if (!group) return "gone";
  const auto caller = cgroup::clone_into(*group, [&] {
    leave_fds(told.get());
    harness::Client mine(stack_.address());
    const auto error = error_of(mine.start_run(id, shape.argv, options));
    const std::string text = error.empty() ? "ok" : error;
    return write(told.get(), text.data(), text.size()) < 0 ? 1 : 0;
  });
  told.reset();
  if (!caller) return "gone";
  pollfd readable{answer.get(), POLLIN, 0};  // a caller that is frozen says nothing
  char text[256];
  const auto length =
      poll(&readable, 1, 200) == 1 ? read(answer.get(), text, sizeof text) : ssize_t{0};
  return length > 0 ? std::string(text, static_cast<size_t>(length)) : "";
}

void ModelSequence::start_inside() {
  RunModel* outer = some_live();
  if (outer == nullptr || outer->group.empty()) return;
  RunModel run;
  const Shape& shape = a_shape(random_());
  auto given = options(run);
  const bool independent = one_in(3);
  if (independent) given["Parent"] = std::string();
  if (!independent) tie(run, outer);
  note("start " + run.id + " (" + shape.name + ", " + run.policy + ") from inside " + outer->id +
       (independent ? ", independent" : ""));
  outer->most_leaks += 2;  // the caller, and the driver of an independent one
  outer->quiet = false;
  const auto answer = call_inside(outer->group + "/work", run.id, shape, given);
  if (answer == "gone") return;
  if (answer == "ok") return started(std::move(run), shape, false);
  if (!answer.empty()) {
    expect_error(answer, {"RunBusy", spawner_is_gone_ || !independent ? "StartFailed" : "RunBusy"});
    return refused(std::move(run), answer);
  }
  note("its caller is silent");
  run.shape(shape);
  run.ignores_term = false;
  // Its start may be cut off at any point by the end of who asked for it.
  run.reasons.insert({"requested", "parent-ended"});
  pending_.push_back(std::move(run));
}

void ModelSequence::freeze() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  note("freeze " + run->id);
  for (auto& each : runs_) each.quiet = false;
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
  ask(*run, "requested");
  const auto report = stack_.client().end_run(run->id, given);
  expect_error(error_of(report), {observed(*run) ? "Observing" : "none"});
  if (!report || !waits) return;
  EXPECT_EQ(value<std::string>(*report, "State"), "ended");
  EXPECT_FALSE(is_populated(run->group));
}

void ModelSequence::shorten() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  note("begin to end " + run->id + ", and sooner");
  ask(*run, "requested");
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
    if (!dry && (what != 0 || run.owner == "a")) ask(run, "requested");
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
  run->quiet = false;
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
    ask(run, "lease-lost");
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
  run->quiet = false;
  expect_error(error_of(stack_.client().release(run->path, {pid})),
               {"RunBusy", "UnixProcessIdUnknown", "InvalidArgs", "ContainmentUnavailable"});
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
  for (auto& run : runs_) run.restarted = true, run.quiet = false;
}

void ModelSequence::lease() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  ask(*run, "lease-lost");
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

void ModelSequence::set_observed(RunModel& run, bool observes) {
  run.own_observe = observes;
  run.was_observed = run.was_observed || observes;
  for (auto& each : runs_) each.may_hold = each.may_hold || observed(each);
}

void ModelSequence::switch_enforcement() {
  observing_ = !observing_;
  note(observing_ ? "observe" : "enforce");
  must(stack_.client().set_enforcement(observing_ ? "observe" : "enforce"));
  for (auto& run : runs_) run.may_hold = run.may_hold || observing_, run.quiet = false;
}

void ModelSequence::switch_one() {
  RunModel* run = some_live();
  if (run == nullptr) return;
  const bool observes = !run->own_observe;
  note((observes ? "observe " : "enforce ") + run->id);
  for (auto& each : runs_) each.quiet = false;
  const auto set = stack_.client().set_run(
      run->id, {{"Enforcement", std::string(observes ? "observe" : "enforce")}});
  expect_error(error_of(set), {"RunBusy"});
  if (set) set_observed(*run, observes);
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

void ModelSequence::ask(RunModel& run, const std::string& reason) {
  run.ask(reason);
}

bool ModelSequence::observed(const RunModel& run) const {
  if (observing_ || run.own_observe) return true;
  const RunModel* parent = run.parent.empty() ? nullptr : named(run.parent);
  return parent != nullptr && observed(*parent);
}

}  // namespace corral::test
