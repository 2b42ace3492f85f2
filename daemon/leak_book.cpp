#include "daemon/leak_book.h"

#include <algorithm>
#include <csignal>

namespace corral::daemon {
namespace {

constexpr const char* kDriver = "driver";

}  // namespace

void LeakBook::asked(std::vector<run::Process> snapshot) {
  add(std::move(snapshot), run::Outcome::term, "");
}

void LeakBook::condemned(std::vector<run::Process> snapshot) {
  add(std::move(snapshot), run::Outcome::kill, "");
}

void LeakBook::held(std::vector<run::Process> snapshot, run::Outcome outcome,
                    std::vector<run::Process> nested) {
  nobody_held();  // who is not seen now went by itself
  add(std::move(snapshot), outcome, "");
  add(std::move(nested), run::Outcome::left, "");
}

// Its driver is no leak of its own, but one of those that it is nested in.
void LeakBook::nested_ended(const run::Report& nested) {
  const bool driver_killed =
      nested.driver_exit == run::DriverExit::killed && nested.driver_status == SIGKILL;
  for (auto& [key, process] : entries_) {
    if (process.invocation.empty()) continue;
    const auto is_it = [&, name = key](const run::Process& leak) {
      return Key{leak.pid, leak.start_time} == name;
    };
    const auto found = std::ranges::find_if(nested.leaks, is_it);
    const bool its_driver =
        process.invocation == nested.invocation && process.outcome == run::Outcome::term;
    if (found != nested.leaks.end()) {
      process.outcome = found->outcome;
      process.rule = found->rule;
    } else if (its_driver && driver_killed) {
      process.outcome = run::Outcome::kill;
    }
  }
}

size_t LeakBook::own() const {
  return static_cast<size_t>(std::ranges::count_if(
      entries_, [](const auto& entry) { return entry.second.invocation.empty(); }));
}

void LeakBook::nobody_held() {
  for (auto& [key, process] : entries_) {
    const bool was_held =
        process.outcome == run::Outcome::left || process.outcome == run::Outcome::frozen;
    if (was_held) process.outcome = run::Outcome::exited;
  }
}

void LeakBook::kept(std::vector<run::Process> processes, const std::string& rule) {
  for (auto& process : processes) {
    const Key key{process.pid, process.start_time};
    process.outcome = run::Outcome::kept;
    process.rule = rule;
    entries_.insert_or_assign(key, std::move(process));
  }
}

void LeakBook::strangers(std::vector<run::Process> snapshot) {
  add(std::move(snapshot), run::Outcome::kill, "stranger");
}

void LeakBook::stuck(std::vector<run::Process> snapshot, pid_t driver) {
  nobody_stuck();  // those of the last look may have gone since
  for (auto& process : snapshot) {
    if (static_cast<pid_t>(process.pid) == driver) process.rule = kDriver;
  }
  add(std::move(snapshot), run::Outcome::stuck, "");
}

void LeakBook::nobody_stuck() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.rule == kDriver; });
  for (auto& [key, process] : entries_) {
    if (process.outcome == run::Outcome::stuck) process.outcome = run::Outcome::kill;
  }
}

void LeakBook::escaped(run::Process process) {
  std::vector<run::Process> one;
  one.push_back(std::move(process));
  add(std::move(one), run::Outcome::escaped, "");
}

// The later word wins: who was asked and is still there is killed; who went in between keeps
// `term`.
void LeakBook::add(std::vector<run::Process> snapshot, run::Outcome outcome,
                   const std::string& rule) {
  for (auto& process : snapshot) {
    const Key key{process.pid, process.start_time};
    const auto [entry, is_new] = entries_.try_emplace(key, std::move(process));
    entry->second.outcome = outcome;
    if (!is_new) {  // try_emplace moved nothing then
      entry->second.state = std::move(process.state);
      entry->second.wchan = std::move(process.wchan);
    }
    if (is_new && !rule.empty()) entry->second.rule = rule;
  }
}

void LeakBook::write_to(run::Report& report) const {
  report.leaks.clear();
  report.leaks_omitted = report.terminated = report.killed = report.stuck = report.escaped =
      report.kept = 0;
  report.leaks_found = 0;
  for (const auto& [key, process] : entries_) {
    if (process.rule != kDriver) ++report.leaks_found;
    report.terminated += process.outcome == run::Outcome::term ? 1 : 0;
    report.killed += process.outcome == run::Outcome::kill ? 1 : 0;
    report.stuck += process.outcome == run::Outcome::stuck ? 1 : 0;
    report.kept += process.outcome == run::Outcome::kept ? 1 : 0;
    report.escaped += process.outcome == run::Outcome::escaped ? 1 : 0;
    run::Process& row = report.leaks.emplace_back(process);
    if (row.run.empty()) row.run = report.id;
    if (row.invocation.empty()) row.invocation = report.invocation;
  }
  run::rank_and_cap(report);
}

}  // namespace corral::daemon
