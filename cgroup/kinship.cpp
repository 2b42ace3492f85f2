#include "cgroup/kinship.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/file.h"
#include "base/parse.h"
#include "cgroup/mount.h"
#include "cgroup/proc_stat.h"

namespace corral::cgroup {
namespace {

// A parent that goes while its child is read again is followed by another, each older than the
// last.
constexpr int kReadsAgain = 8;

// All of it through one directory, which never comes to mean another process of the same number.
std::optional<Kin> read_kin(pid_t pid) {
  const auto directory =
      base::open_at(AT_FDCWD, fmt::format("/proc/{}", pid), O_PATH | O_DIRECTORY);
  if (!directory) return std::nullopt;
  const auto stat_text = base::read_at(directory->get(), "stat");
  const auto stat = stat_text ? parse_stat(*stat_text) : std::nullopt;
  if (!stat) return std::nullopt;
  const auto cgroup_text = base::read_at(directory->get(), "cgroup");
  auto control_group = cgroup_text ? parse_proc_cgroup(*cgroup_text) : std::nullopt;
  struct stat owner {};  // of /proc/PID itself: the effective uid (proc(5))
  if (!control_group || fstat(directory->get(), &owner) < 0) return std::nullopt;
  return Kin{pid, stat->ppid, stat->start_time, owner.st_uid, std::move(*control_group)};
}

}  // namespace

Result<Kinship> Kinship::open() {
  Kinship kinship(opendir("/proc"));
  if (!kinship.proc_) return failed(errno, "open /proc");
  char self[32];
  const ssize_t size = readlink("/proc/self", self, sizeof self);
  if (size < 0) return failed(errno, "read /proc/self");
  // One of another PID namespace speaks of other processes by the same numbers.
  if (base::number<pid_t>({self, static_cast<size_t>(size)}) != getpid())
    return failed(ESRCH, fmt::format("find process {} in /proc", getpid()));
  return kinship;
}

bool Kinship::step(size_t how_many) {
  while (proc_ && how_many > 0) {
    const dirent* entry = readdir(proc_.get());
    if (entry == nullptr) proc_.reset();
    const auto pid = entry != nullptr ? base::number<pid_t>(entry->d_name) : std::nullopt;
    if (!pid) continue;
    --how_many;
    auto kin = read_kin(*pid);
    if (!kin) continue;
    read_.push_back(*pid);
    kin_.insert_or_assign(*pid, std::move(*kin));
  }
  return !proc_;
}

const Kin* Kinship::find(pid_t pid) const {
  const auto found = kin_.find(pid);
  return found == kin_.end() ? nullptr : &found->second;
}

const Kin* Kinship::find_or_read(pid_t pid) {
  if (const Kin* known = find(pid)) return known;
  auto kin = read_kin(pid);
  return kin ? &kin_.emplace(pid, std::move(*kin)).first->second : nullptr;
}

// The parent that the pass saw, if it can be that: a reaper is an ancestor, so older as well.
const Kin* Kinship::elder(const Kin& child) const {
  const Kin* parent = find(child.ppid);
  return parent != nullptr && parent->start_time <= child.start_time ? parent : nullptr;
}

const Kin* Kinship::parent(pid_t pid) {
  const Kin* child = find_or_read(pid);
  for (int i = 0; child != nullptr && child->ppid != 0 && i < kReadsAgain; ++i) {
    if (const Kin* known = elder(*child)) return known;
    auto again = read_kin(pid);
    if (!again || again->start_time != child->start_time) return nullptr;
    kin_.at(pid) = std::move(*again);
    if (const Kin* known = elder(*child)) return known;
    // It may be older than the child and yet missing in the pass: a list is not made at once.
    auto parent = read_kin(child->ppid);
    if (parent && parent->start_time <= child->start_time)
      return &kin_.insert_or_assign(parent->pid, std::move(*parent)).first->second;
  }
  return nullptr;
}

std::vector<Kin> Kinship::descendants(pid_t pid) {
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  for (const pid_t child : read_)
    if (const Kin* above = parent(child)) children[above->pid].push_back(child);
  std::vector<Kin> found;
  std::vector<pid_t> todo = {pid};
  for (size_t i = 0; i < todo.size(); ++i) {
    // Each once: links of several moments might make a ring.
    const auto below = children.extract(todo[i]);
    if (below.empty()) continue;
    for (const pid_t child : below.mapped()) {
      if (child == pid) continue;
      found.push_back(kin_.at(child));
      todo.push_back(child);
    }
  }
  return found;
}

std::vector<Kin> Kinship::ancestors(pid_t pid) {
  std::vector<Kin> found;
  for (const Kin* one = parent(pid); one != nullptr && found.size() < kin_.size();
       one = parent(one->pid))
    found.push_back(*one);
  return found;
}

Holds Kinship::names_a_run(const Kin& kin) {
  const auto [known, is_new] = names_.try_emplace(kin.pid, Holds::gone);
  if (is_new) known->second = environ_names(kin.pid, kin.start_time, "CORRAL_INVOCATION");
  return known->second;
}

}  // namespace corral::cgroup
