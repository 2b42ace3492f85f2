#include "cli/embedded_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "cgroup/control.h"
#include "cgroup/janitor.h"
#include "cgroup/mount.h"

namespace corral::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kProofBound{2000};
constexpr milliseconds kRemovalBound{5000};
constexpr milliseconds kRetryPause{10};

Result<std::string> own_cgroup() {
  const auto mount = cgroup::find_mount();
  if (!mount) return mount.error();
  const auto path = cgroup::path_of(0);
  if (!path) return path.error();
  // A mount may show a part of the hierarchy alone.
  const std::string root = mount->root == "/" ? "" : mount->root;
  const bool seen = *path == root || path->starts_with(root + "/");
  if (!seen && root != "/.." && !root.starts_with("/../"))
    return failed(ENOENT, fmt::format("find the own cgroup {} below {}", *path, mount->path));
  const std::string below = seen ? path->substr(root.size()) : *path;
  return mount->path + (below == "/" ? "" : below);
}

// What to do about a cgroup that we may not write.
Error with_remedy(Error error) {
  if (error.code == EACCES || error.code == EPERM)
    error.message +=
        "; the cgroup is not delegated: run as root or in a delegated cgroup (systemd-run --user "
        "--scope -p Delegate=yes corralctl …)";
  if (error.code == EROFS)
    error.message +=
        "; give the container a writable cgroup2 mount, or name one with --cgroup-root";
  return error;
}

// Whoever moves a process into a cgroup, or is born there, needs the right to write this file of
// the next cgroup above both (cgroup-v2.rst, "Delegation Containment"), and that is the caller's
// own.
Result<void> check_delegation(const cgroup::Group& own) {
  if (faccessat(own.fd(), "cgroup.procs", W_OK, AT_EACCESS) == 0) return {};
  return failed(errno, fmt::format("write to {}/cgroup.procs", own.name()));
}

Result<void> kill_rest(const cgroup::Group& group) {
  const auto events = group.events();
  if (!events) return cgroup::is_gone(events.error()) ? Result<void>{} : events.error();
  if (!events->populated) return {};
  if (auto killed = cgroup::kill(group); !killed) return killed.error();
  // For what cgroup.kill spares: see cgroup/control.h.
  if (auto walked = cgroup::kill_by_walk(group); !walked) return walked.error();
  const auto empty = cgroup::wait_populated(group, false, kProofBound);
  if (!empty) return empty.error();
  if (!*empty) return failed(EBUSY, "killed, and processes are left");
  return {};
}

}  // namespace

WorkingGroup::WorkingGroup(cgroup::Group parent, std::string parent_path, cgroup::Group group)
    : parent_(std::move(parent)), parent_path_(std::move(parent_path)), group_(std::move(group)) {}

Result<WorkingGroup> WorkingGroup::create(const std::optional<std::string>& parent) {
  const auto path = parent ? Result<std::string>(*parent) : own_cgroup();
  if (!path) return path.error();
  auto above = cgroup::Group::open(AT_FDCWD, *path);
  if (!above) return above.error();
  if (!parent)
    if (auto delegated = check_delegation(*above); !delegated)
      return with_remedy(delegated.error());
  // In a pid namespace the same pids come again; what a predecessor left there is not ours.
  const std::string name = fmt::format("corral-{}-{}", getpid(), base::random_hex().substr(0, 8));
  auto group = cgroup::Group::create(above->fd(), name);
  if (!group) {
    Error error = group.error();
    error.message = fmt::format("in the cgroup {}: {}", *path, error.message);
    return with_remedy(std::move(error));
  }
  return WorkingGroup(std::move(*above), *path, std::move(*group));
}

Result<WorkingGroup> WorkingGroup::adopt(UniqueFd parent, const std::string& parent_path,
                                         UniqueFd group, const std::string& name) {
  auto above = cgroup::Group::adopt(std::move(parent), parent_path);
  if (!above) return above.error();
  auto own = cgroup::Group::adopt(std::move(group), name);
  if (!own) return own.error();
  return WorkingGroup(std::move(*above), parent_path, std::move(*own));
}

WorkingGroup::~WorkingGroup() {
  (void)remove();  // whoever wants to know has called it
}

Result<void> WorkingGroup::remove() {
  if (!group_) return {};
  const cgroup::Group group = std::move(*group_);
  group_.reset();
  const std::string where = fmt::format("remove {}/{}", parent_path_, group.name());
  if (auto rest = kill_rest(group); !rest)
    return Error{where + ": " + rest.error().message, rest.error().code};
  // The kernel says EBUSY for a moment after the last process went.
  const auto deadline = steady_clock::now() + kRemovalBound;
  for (;;) {
    const auto removed = cgroup::remove_tree(parent_.fd(), group.name(), group.id());
    if (!removed) return Error{where + ": " + removed.error().message, removed.error().code};
    if (*removed != cgroup::Removed::busy) return {};
    if (steady_clock::now() >= deadline) return failed(EBUSY, where);
    (void)poll(nullptr, 0, static_cast<int>(kRetryPause.count()));
  }
}

}  // namespace corral::cli
