#pragma once

#include <deque>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "harness/signals.h"
#include "model_opener.h"
#include "model_run.h"

namespace corral::test {

// Of a cgroup; a directory that is gone is not.
bool is_populated(const std::string& directory);

// A random sequence of acts on a service, and what must hold while it goes on and when it is over.
// The seed says which; the service is the caller's, and has no run at the start.
class ModelSequence {
 public:
  ModelSequence(harness::Stack& stack, uint64_t seed);
  ModelSequence(const ModelSequence&) = delete;
  ModelSequence& operator=(const ModelSequence&) = delete;
  ~ModelSequence();

  // All of it. A fault fails the running test.
  void run();
  // What was done so far, a line each.
  std::string transcript() const;
  // The longest that the service took for an answer that waits for nothing.
  std::chrono::microseconds slowest() const { return slowest_; }

 private:
  using Act = void (ModelSequence::*)();

  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t n) { return below(n) == 0; }
  uint64_t milliseconds(uint64_t most) { return below(most + 1) * kMilliseconds; }
  // nullptr where there is none.
  RunModel* some_live();
  void note(const std::string& line);
  // The error is none, or one of these.
  void expect_error(const std::string& error, std::initializer_list<const char*> allowed);

  Act an_act();

  // Acts that make runs: model_starts.cpp.
  void start();
  void open();
  void start_inside();
  void adopt();
  // Acts on those that there are: model_acts.cpp.
  void freeze();
  void thaw();
  void end();
  void shorten();
  void end_many();
  void kill_supervisor();
  void kill_driver();
  void kill_opener();
  void replace_spawner();
  void release();
  void restart();
  void lease();
  void switch_enforcement();
  void switch_one();
  void wait();

  Dict options(RunModel& run);
  RunModel& add(RunModel run, const std::string& path, const std::string& invocation);
  void tie(RunModel& run, const RunModel* parent);
  // That many more processes may be in the run of that id, and so in all that it is in.
  void may_leak(const std::string& id, unsigned more);
  // What a caller inside `work` heard of its StartRun: "ok", an error's name, "" where it is
  // silent.
  std::string call_inside(const std::string& work, const std::string& id, const Shape& shape,
                          const Dict& options);
  void started(RunModel run, const Shape& shape, bool is_ready);
  void refused(RunModel run, const Shape& shape, const std::string& error);
  bool observed(const RunModel& run) const;
  // Enforcement is, or may be, of one kind or the other from here on.
  void look_at_enforcement();
  RunModel* named(const std::string& id);
  const RunModel* named(const std::string& id) const;

  // What holds at any time: model_sequence.cpp.
  void look();
  void look_at(const harness::RunRow& row);
  void meet(const harness::RunRow& row);
  void look_closely(RunModel& run);
  void finish();
  void end_all();
  std::vector<std::string> left() const;
  // Holds every process of every run, so that its death can be seen.
  void hold_processes();
  std::vector<pid_t> living() const;
  void check_signals(const RunModel& run, const Dict& report);
  bool all_told();
  void reap();

  harness::Stack& stack_;
  std::mt19937_64 random_;
  std::string prefix_;
  std::vector<std::string> lines_;
  std::deque<RunModel> runs_;      // references stay
  std::vector<RunModel> pending_;  // asked for from inside by a caller that has not answered
  std::map<std::string, std::unique_ptr<Opener>> openers_;
  std::vector<UniqueFd> leases_;
  std::deque<harness::Child> adopted_;
  std::map<pid_t, cgroup::Pidfd> processes_;
  harness::SignalRecorder signals_;
  std::chrono::microseconds slowest_{0};
  bool observing_ = false;
  bool was_killed_ = false;  // the service
  bool spawner_is_gone_ = false;
};

}  // namespace corral::test
