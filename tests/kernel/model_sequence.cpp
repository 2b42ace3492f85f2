#include "model_sequence.h"

#include <sys/wait.h>

#include <utility>

#include "cgroup/mount.h"

namespace corral::test {
namespace {

using testing::IsEmpty;

constexpr uint64_t kSteps = 12;
// An answer that waits for nothing. A freeze is waited for 500 ms, a proof 2 s: in the loop, both
// would be longer.
constexpr std::chrono::milliseconds kAtOnce{400};
constexpr std::chrono::seconds kGone{5};  // directories, and signals

}  // namespace

bool is_populated(const std::string& directory) {
  const auto group = cgroup::Group::open(AT_FDCWD, directory);
  const auto events = group ? group->events() : Result<cgroup::Events>(group.error());
  return events ? events->populated : !cgroup::is_gone(events.error());
}

ModelSequence::ModelSequence(harness::Stack& stack, uint64_t seed)
    : stack_(stack),
      random_(seed),
      prefix_("s" + std::to_string(seed) + "-"),
      signals_(stack.address()) {}

ModelSequence::~ModelSequence() {
  openers_.clear();
  adopted_.clear();
  reap();
}

void ModelSequence::note(const std::string& line) {
  lines_.push_back(line);
}

std::string ModelSequence::transcript() const {
  std::string text;
  for (const auto& line : lines_) text += "  " + line + "\n";
  return text;
}

ModelSequence::Act ModelSequence::an_act() {
  // Starts, ends and what makes a run live on come more often than what ends all of them.
  static constexpr Act kActs[] = {
      &ModelSequence::start,
      &ModelSequence::start,
      &ModelSequence::start,
      &ModelSequence::start,
      &ModelSequence::open,
      &ModelSequence::open,
      &ModelSequence::start_inside,
      &ModelSequence::start_inside,
      &ModelSequence::adopt,
      &ModelSequence::freeze,
      &ModelSequence::freeze,
      &ModelSequence::thaw,
      &ModelSequence::end,
      &ModelSequence::end,
      &ModelSequence::shorten,
      &ModelSequence::end_many,
      &ModelSequence::kill_supervisor,
      &ModelSequence::kill_driver,
      &ModelSequence::kill_driver,
      &ModelSequence::kill_opener,
      &ModelSequence::replace_spawner,
      &ModelSequence::release,
      &ModelSequence::release,
      &ModelSequence::restart,
      &ModelSequence::lease,
      &ModelSequence::switch_enforcement,
      &ModelSequence::switch_one,
      &ModelSequence::wait,
      &ModelSequence::wait,
  };
  return kActs[below(std::size(kActs))];
}

void ModelSequence::run() {
  start();
  const auto steps = 4 + below(kSteps);
  for (uint64_t step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
    (this->*an_act())();
    look();
  }
  finish();
}

// The state of every run is one that the model allows, and the answer comes at once.
void ModelSequence::look() {
  const auto began = std::chrono::steady_clock::now();
  const auto rows = must(stack_.client().list_runs({{"All", true}}));
  const auto took = std::chrono::steady_clock::now() - began;
  slowest_ = std::max(slowest_, std::chrono::ceil<std::chrono::microseconds>(took));
  EXPECT_LT(took, kAtOnce) << "the service keeps its callers waiting";
  for (const auto& row : rows) look_at(row);
  hold_processes();
  if (!runs_.empty()) look_closely(runs_[below(runs_.size())]);
}

void ModelSequence::look_at(const harness::RunRow& row) {
  RunModel* known = named(row.id);
  if (known == nullptr) return meet(row);
  EXPECT_EQ(row.invocation, known->invocation);
  EXPECT_TRUE(known->see(row.state));
  // The kernel's word came before the service's.
  if (known->ended() && !known->group.empty()) {
    EXPECT_FALSE(is_populated(known->group)) << row.id;
  }
}

// A run that was not asked for by name, or whose caller was gone before the answer.
void ModelSequence::meet(const harness::RunRow& row) {
  const auto asked = std::ranges::find(pending_, row.id, &RunModel::id);
  RunModel run;
  if (asked != pending_.end()) {
    run = std::move(*asked);
    pending_.erase(asked);
    run.may_be_asked();
    run.unstarted = true;  // perhaps: its start is cut off where its caller ends
  } else if (const auto from = row.id.rfind(".kept-"); from != std::string::npos) {
    const RunModel* origin = named(row.id.substr(0, from));
    run.kept = true;
    run.own_observe = run.was_observed = origin == nullptr || origin->was_observed;
    run.owner = value<std::string>(row.more, "Owner");
    // "": its processes went, and it has no driver whose exit could be the reason.
    run.reasons = {"", "driver-exited", "requested", "lease-lost"};
    if (run.was_observed) run.enforcement.insert("enforce");
  } else {
    ADD_FAILURE() << "nobody asked for the run " << row.id;
  }
  run.id = row.id;
  run.may_hold = run.may_hold || run.kept;
  run.may_keep = true;
  run.quiet = false;
  run.state = row.state;
  add(std::move(run), row.path, row.invocation);
}

void ModelSequence::look_closely(RunModel& run) {
  if (run.unstarted) return;
  const auto all = must(stack_.client().run_properties(run.path));
  const auto state = value<std::string>(all, "State");
  EXPECT_TRUE(run.see(state));
  const auto exit = value<std::string>(all, "DriverExit");
  if (!run.kept && !exit.empty()) {
    EXPECT_NE(state, "running") << run.id << ": " << exit;
  }
  EXPECT_EQ(value<uint32_t>(all, "Stuck"), 0U);
  EXPECT_EQ(value<std::string>(all, "ControlGroup").empty(), run.ended());
  if (run.ended()) {
    EXPECT_EQ(value<uint32_t>(all, "Descendants"), 0U);
  }
}

// Whatever it was: enforced and ended, nothing is left of it.
void ModelSequence::finish() {
  if (std::exchange(spawner_is_gone_, false)) stack_.start_spawner();
  note("all is ended");
  end_all();
  look();
  EXPECT_TRUE(eventually(kGone, [&] { return left().empty(); })) << testing::PrintToString(left());
  EXPECT_TRUE(eventually(kGone, [&] { return living().empty(); }))
      << "there are still " << testing::PrintToString(living());
  EXPECT_THAT(pending_, IsEmpty()) << "a run that was started is unknown";
  // Killed between the report and the signal, the service sends none.
  EXPECT_TRUE(was_killed_ || eventually(kGone, [&] { return all_told(); }));
  for (const auto& run : runs_) {
    const auto report = must(stack_.client().get_report(run.id, {{"Invocation", run.invocation}}));
    run.check(report);
    check_signals(run, report);
    must(stack_.client().forget_run(run.id));
  }
  EXPECT_THAT(must(stack_.client().list_runs({{"All", true}})), IsEmpty());
}

// Directories of runs, whose removal is a thread's. Not those of the kernel's probe, which a new
// service takes its time for.
std::vector<std::string> ModelSequence::left() const {
  auto all = harness::directories_below(stack_.runs());
  std::erase_if(all, [](const std::string& name) { return name.starts_with("probe-"); });
  return all;
}

void ModelSequence::end_all() {
  auto& client = stack_.client();
  for (auto& run : runs_) run.ask("requested");
  observing_ = false;
  look_at_enforcement();
  must(client.set_enforcement("enforce"));
  for (auto& run : runs_) {
    if (run.ended()) continue;
    run.own_observe = false;
    expect_error(error_of(client.set_run(run.id, {{"Enforcement", std::string("enforce")}})),
                 {"RunBusy"});
  }
  look_at_enforcement();
  // Once more for what the ends spared.
  for (int round = 0; round < 2; ++round) {
    for (const auto& row : must(client.end_runs({{"GraceUSec", milliseconds(30)}}))) {
      EXPECT_EQ(value<std::string>(row, "Outcome"), "ended")
          << value<std::string>(row, "Id") << ": " << value<std::string>(row, "Message");
    }
  }
  EXPECT_THAT(must(client.list_runs()), IsEmpty());
  // A caller from inside was one of those that were ended.
  std::erase_if(pending_, [&](const RunModel& run) {
    return error_of(client.get_run(run.id)) == std::string(harness::kErrorPrefix) + "NoSuchRun";
  });
}

void ModelSequence::hold_processes() {
  std::erase_if(processes_, [](const auto& held) { return held.second.exited(); });
  const auto root = cgroup::Group::open(AT_FDCWD, stack_.root());
  if (!root) return;
  for (const auto& member : must(cgroup::members(*root))) {
    if (processes_.contains(member.pid)) continue;
    auto process = cgroup::Pidfd::open(member.pid);
    const auto where = process ? cgroup::path_of(member.pid) : Result<std::string>(Error{"", 0});
    // Not one that came under its number since.
    if (where && where->starts_with(stack_.root_control_group() + "/"))
      processes_.emplace(member.pid, std::move(*process));
  }
}

std::vector<pid_t> ModelSequence::living() const {
  std::vector<pid_t> pids;
  for (const auto& [pid, process] : processes_) {
    if (!process.exited()) pids.push_back(pid);
  }
  return pids;
}

bool ModelSequence::all_told() {
  const auto& seen = signals_.seen();
  return std::ranges::all_of(runs_, [&](const RunModel& run) {
    return std::ranges::any_of(seen, [&](const harness::Signal& signal) {
      return signal.name == "RunEnded" && signal.invocation == run.invocation;
    });
  });
}

// Each invocation ends once, nothing is said of it after that, and what was said is in its report.
void ModelSequence::check_signals(const RunModel& run, const Dict& report) {
  int ends = 0;
  const auto exit = exit_of(report);
  for (const auto& signal : signals_.seen()) {
    if (signal.invocation != run.invocation) continue;
    SCOPED_TRACE(signal.name + " of " + signal.id);
    EXPECT_EQ(ends, 0) << "after its RunEnded";
    if (signal.name == "DriverExited") {
      EXPECT_EQ(signal.text, exit.exit);
      EXPECT_EQ(signal.number, exit.status);
    }
    if (signal.name == "LeaksFound" && !run.was_restarted) {
      EXPECT_LE(static_cast<uint64_t>(signal.number), value<uint64_t>(report, "LeaksFound"));
    }
    if (signal.name != "RunEnded") continue;
    ++ends;
    EXPECT_EQ(signal.text, exit.result);
    EXPECT_EQ(signal.reason, value<std::string>(report, "EndReason"));
  }
}

// Orphans of killed supervisors are the test's, which is their subreaper. The service's own
// processes are waited for elsewhere.
void ModelSequence::reap() {
  siginfo_t info{};
  while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
    const pid_t pid = info.si_pid;
    if (pid == stack_.corrald_pid() || pid == stack_.spawner_pid()) return;
    (void)waitpid(pid, nullptr, 0);
    info = {};
  }
}

RunModel* ModelSequence::named(const std::string& id) {
  const auto found = std::ranges::find(runs_, id, &RunModel::id);
  return found == runs_.end() ? nullptr : &*found;
}
const RunModel* ModelSequence::named(const std::string& id) const {
  const auto found = std::ranges::find(runs_, id, &RunModel::id);
  return found == runs_.end() ? nullptr : &*found;
}

bool ModelSequence::observed(const RunModel& run) const {
  if (observing_ || run.own_observe) return true;
  const RunModel* parent = run.parent.empty() ? nullptr : named(run.parent);
  return parent != nullptr && observed(*parent);
}

void ModelSequence::look_at_enforcement() {
  for (auto& run : runs_) run.enforced(observed(run));
}

RunModel* ModelSequence::some_live() {
  std::vector<RunModel*> live;
  for (auto& run : runs_) {
    if (!run.ended()) live.push_back(&run);
  }
  return live.empty() ? nullptr : live[below(live.size())];
}

void ModelSequence::expect_error(const std::string& error,
                                 std::initializer_list<const char*> allowed) {
  if (!lines_.empty() && !error.empty()) lines_.back() += " -> " + error;
  const auto is = [&](const char* name) { return error.ends_with(std::string(".") + name); };
  EXPECT_TRUE(error.empty() || std::ranges::any_of(allowed, is)) << error;
}

}  // namespace corral::test
