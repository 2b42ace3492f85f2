#include "daemon/adoption.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "cgroup/control.h"
#include "cgroup/mount.h"
#include "cgroup/processes.h"

namespace corral::daemon {
namespace {

bool is_in(const std::string& path, const std::string& top) {
  return path == top || path.starts_with(top + "/");
}

}  // namespace

Adoption::~Adoption() {
  const auto mount = moved_.empty() ? Result<cgroup::Mount>(Error{}) : cgroup::find_mount();
  for (auto& [process, from] : moved_) {
    if (process.exited()) continue;
    auto old = mount ? cgroup::Group::open(AT_FDCWD, mount->path + from)
                     : Result<cgroup::Group>(mount.error());
    const auto back = old ? cgroup::move_into(*old, process.pid()) : Result<void>(old.error());
    if (!back) log(Level::error, "move pid {} back: {}", process.pid(), back.error().message);
  }
}

bool Adoption::may_take(const cgroup::Kin& kin) const {
  if (limits_.uid != 0 && kin.uid != limits_.uid) return false;
  if (!is_in(kin.control_group, limits_.runs)) return true;
  return !limits_.from.empty() && is_in(kin.control_group, limits_.from + "/work");
}

Result<void> Adoption::take(cgroup::Pidfd process, std::string from) {
  auto moved = cgroup::move_into(work_, process.pid());
  if (!moved) return moved;
  // It held its number until now: it was this one that was moved, or nobody.
  if (process.exited()) return failed(ESRCH, fmt::format("move pid {}", process.pid()));
  moved_.push_back({std::move(process), std::move(from)});
  return {};
}

size_t Adoption::take_descendants(cgroup::Kinship& pass) {
  const auto members = cgroup::members(work_);
  if (!members) return 0;
  const auto sits_inside = [&](pid_t pid) {
    return std::ranges::binary_search(*members, pid, {}, &cgroup::Member::pid);
  };
  size_t taken = 0;
  for (const pid_t pid : std::vector(pass.pids())) {
    if (sits_inside(pid) || refused_.contains(pid)) continue;
    const auto above = pass.ancestors(pid);
    if (std::ranges::none_of(above, sits_inside, &cgroup::Kin::pid)) continue;
    cgroup::Kin kin = *pass.find(pid);
    auto process = cgroup::Pidfd::open(pid, kin.start_time);
    auto where = cgroup::path_of(pid);
    if (!process || !where || process->exited()) continue;
    kin.control_group = std::move(*where);
    if (!may_take(kin)) continue;
    const auto moved = take(std::move(*process), std::move(kin.control_group));
    taken += moved ? 1u : 0u;
    if (moved || moved.error().code == ESRCH) continue;
    log(Level::warning, "pid {} is not adopted: {}", pid, moved.error().message);
    refused_.insert(pid);
  }
  return taken;
}

}  // namespace corral::daemon
