#include "cgroup/escapes.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/parse.h"
#include "cgroup/environ.h"
#include "cgroup/mount.h"

namespace corral::cgroup {
namespace {

bool is_same(const Kin& kin, const run::ProcessName& name) {
  return name.pid != 0 && kin.pid == static_cast<pid_t>(name.pid) &&
         kin.start_time == name.start_time;
}

bool is_below(std::string_view path, std::string_view top) {
  if (top == "/") return path.size() > 1;
  return path.size() > top.size() && path.starts_with(top) && path[top.size()] == '/';
}

bool is_spared(const Ties& ties, pid_t pid) {
  return std::find(ties.spared.begin(), ties.spared.end(), pid) != ties.spared.end();
}

// How many PID namespaces below ours it is in (NSpid, proc_pid_status(5)); nullopt where it is
// gone.
std::optional<size_t> pid_namespaces(pid_t pid) {
  const auto text = base::read_at(AT_FDCWD, fmt::format("/proc/{}/status", pid));
  if (!text) return std::nullopt;
  for (const std::string_view line : base::split(*text, '\n'))
    if (line.starts_with("NSpid:")) return base::split(line, '\t').size();
  return std::nullopt;
}

}  // namespace

EscapeSearch::EscapeSearch(Kinship& kinship, Ties ties, Lineage lineage)
    : kinship_(kinship),
      ties_(std::move(ties)),
      lineage_(lineage),
      entries_{"CORRAL_RUN_ID=" + ties_.id.text(), "CORRAL_INVOCATION=" + ties_.invocation.text()} {
}

// Whether the run's, or not, what descends from it; nullopt where its parent is to be asked.
std::optional<bool> EscapeSearch::side(const Kin& kin) const {
  if (is_same(kin, ties_.driver)) return true;
  if (is_same(kin, ties_.supervisor)) return ties_.adopts;
  if (is_spared(ties_, kin.pid)) return false;
  if (!is_below(kin.control_group, ties_.runs)) return std::nullopt;
  const bool own =
      kin.control_group == ties_.directory || is_below(kin.control_group, ties_.directory);
  return own && !is_below(kin.control_group, ties_.directory + "/runs");
}

// Remembers what it finds for all on the way: chains may be long and shared.
bool EscapeSearch::is_kin(pid_t pid) {
  std::vector<pid_t> way;
  bool answer = false;
  for (const Kin* one = kinship_.find(pid); one != nullptr; one = kinship_.parent(one->pid)) {
    const auto known = known_.find(one->pid);
    const auto decided = known != known_.end() ? std::optional(known->second) : side(*one);
    answer = decided.value_or(false);
    if (decided) break;
    way.push_back(one->pid);
    known_.emplace(one->pid, false);  // links of several moments might make a ring
  }
  for (const pid_t passed : way) known_[passed] = answer;
  return answer;
}

// The rule by which it is an escaped one; nullptr where it is none.
const char* EscapeSearch::rule(const Kin& kin) {
  if (is_below(kin.control_group, ties_.runs) || is_same(kin, ties_.supervisor) ||
      is_spared(ties_, kin.pid))
    return nullptr;
  if (is_kin(kin.pid)) return "parent";
  if (kin.uid != ties_.uid) return nullptr;
  Holds holds = kinship_.names_a_run(kin);  // most do not
  if (holds == Holds::yes) holds = environ_holds(kin.pid, kin.start_time, entries_);
  unreadable_ += holds == Holds::unreadable ? 1 : 0;
  return holds == Holds::yes ? "environment" : nullptr;
}

bool EscapeSearch::step(size_t how_many) {
  const auto& pids = kinship_.pids();
  std::vector<std::pair<Kin, const char*>> hits;
  const size_t end = std::min(pids.size(), next_ + std::min(how_many, pids.size()));
  for (; next_ < end; ++next_) {
    const Kin& kin = *kinship_.find(pids[next_]);
    if (const char* by = rule(kin)) hits.emplace_back(kin, by);
  }
  if (!hits.empty()) look_at(hits);
  return next_ == pids.size();
}

// The pass may be old by now: where each sits is read again.
void EscapeSearch::look_at(const std::vector<std::pair<Kin, const char*>>& hits) {
  std::vector<Member> members;
  for (const auto& [kin, by] : hits) {
    const auto where = path_of(kin.pid);
    if (where && !is_below(*where, ties_.runs)) members.push_back({kin.pid, where->substr(1)});
  }
  auto hit = hits.begin();
  for (run::Process& process : look(members, "/", lineage_)) {  // in the order of the hits
    while (hit->first.pid != static_cast<pid_t>(process.pid)) ++hit;
    if (hit->first.start_time != process.start_time) continue;
    describe(process);
    process.outcome = run::Outcome::escaped;
    process.rule = hit->second;
    found_.push_back(std::move(process));
  }
}

std::optional<bool> is_foreign(Kinship& kinship, const Ties& ties, pid_t member) {
  if (!ties.adopts || ties.supervisor.pid == 0) return std::nullopt;
  const Kin* top = kinship.find_or_read(member);
  if (top == nullptr) return std::nullopt;
  if (is_same(*top, ties.driver)) return false;
  for (const Kin& one : kinship.ancestors(member)) {
    if (is_same(one, ties.driver) || is_same(one, ties.supervisor)) return false;
    if (is_spared(ties, one.pid)) return true;
    top = kinship.find(one.pid);
  }
  if (top->ppid != 0) return std::nullopt;
  const auto its = pid_namespaces(member);
  const auto ours = pid_namespaces(static_cast<pid_t>(ties.supervisor.pid));
  if (!its || its != ours) return std::nullopt;
  return true;
}

}  // namespace corral::cgroup
