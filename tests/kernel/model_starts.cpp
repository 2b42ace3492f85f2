#include <poll.h>

#include "cgroup/clone.h"
#include "cgroup/mount.h"
#include "model_sequence.h"

namespace corral::test {
namespace {

using harness::error_of;

// How long a caller is waited for that may be frozen, in milliseconds.
constexpr int kSilence = 200;

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
  if (run.policy != "report" && one_in(8)) {
    options["Keep"] = std::vector<std::string>{"/*/sleep"};
    run.may_keep = true;
  }
  run.own_observe = run.was_observed = one_in(12);
  if (run.own_observe) options["Enforcement"] = std::string("observe");
  run.may_hold = run.policy != "kill";
  return options;
}

void ModelSequence::tie(RunModel& run, const RunModel* parent) {
  if (parent == nullptr) return;
  run.parent = parent->id;
  run.reasons.insert("parent-ended");
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
    run.disturb();
    run.may_be_asked();
  }
  run.enforcement.insert(observed(run) ? "observe" : "enforce");
  run.may_hold = run.may_hold || observed(run);
  may_leak(run.parent, run.most_leaks + 1);
  runs_.push_back(std::move(run));
  return runs_.back();
}

void ModelSequence::may_leak(const std::string& id, unsigned more) {
  for (RunModel* run = named(id); run != nullptr; run = named(run->parent)) {
    run->most_leaks += more;
    run->nests = true;
  }
}

void ModelSequence::started(RunModel run, const Shape& shape, bool is_ready) {
  run.shape(shape);
  run.ignores_term = run.ignores_term && is_ready;
  const auto named = must(stack_.client().get_run(run.id));
  add(std::move(run), named.path, named.invocation);
}

void ModelSequence::refused(RunModel run, const Shape& shape, const std::string& error) {
  const auto known = stack_.client().get_run(run.id);
  EXPECT_EQ(known.has_value(), error.ends_with(".StartFailed")) << error;
  if (!known) return;
  run.unstarted = true;
  if (!run.parent.empty()) {  // perhaps born, and not told any more
    run.shape(shape);
    run.ignores_term = false;
    run.may_be_asked();
  }
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
    return refused(std::move(run), shape, error);
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
  if (!opener->refused().empty())
    return expect_error(opener->refused(), {run.parent.empty() ? "none" : "RunBusy"});
  const auto opened = opener->opened();
  run.shape(shape);
  run.ignores_term = false;  // it may be asked before it is ready
  if (opener->driver() == 0) {
    note("it has no driver");
    run.unstarted = true;
    run.reasons.insert("lease-lost");
    run.state = "starting";
  }
  openers_[run.id] = std::move(opener);
  add(std::move(run), opened.path, opened.invocation);
}

// Processes of the test's own, some of which may be of another moment than others.
void ModelSequence::adopt() {
  RunModel run;
  const Shape& shape = a_shape(random_());
  auto given = options(run);
  given.erase("Environment");
  if (!shape.natural.empty() && !shape.ready) return;  // it may have gone, and left others behind
  note("adopt " + run.id + " (" + shape.name + ", " + run.policy + ")");
  adopted_.emplace_back(harness::Command{.argv = shape.argv, .log = "/dev/null"});
  const auto pid = static_cast<uint32_t>(adopted_.back().pid());
  const auto error = error_of(stack_.client().adopt_processes(run.id, {pid}, given));
  expect_error(error, {"none"});
  if (!error.empty()) return;
  run.shape(shape);
  run.ignores_term = false;  // it may be asked before it is ready
  run.may_be_unseen = true;  // its parent is the test
  run.disturb();
  const auto known = must(stack_.client().get_run(run.id));
  add(std::move(run), known.path, known.invocation);
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
      poll(&readable, 1, kSilence) == 1 ? read(answer.get(), text, sizeof text) : ssize_t{0};
  if (length <= 0) return "";
  // Born in a run that had just ended, it would be taken for one that was spared.
  eventually(std::chrono::milliseconds(kSilence), [&] { return caller->exited(); });
  return std::string(text, static_cast<size_t>(length));
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
  may_leak(outer->id, 2);  // the caller, and the driver of an independent one
  outer->may_keep = outer->may_keep || independent;
  outer->disturb();
  const auto answer = call_inside(outer->group + "/work", run.id, shape, given);
  if (answer == "gone") return;
  if (answer == "ok") return started(std::move(run), shape, false);
  if (!answer.empty()) {
    expect_error(answer, {"RunBusy", spawner_is_gone_ || !independent ? "StartFailed" : "RunBusy"});
    return refused(std::move(run), shape, answer);
  }
  note("its caller is silent");
  run.shape(shape);
  run.ignores_term = false;
  // Its start may be cut off at any point by the end of who asked for it.
  run.reasons.insert({"requested", "parent-ended"});
  pending_.push_back(std::move(run));
}

}  // namespace corral::test
