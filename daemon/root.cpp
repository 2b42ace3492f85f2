#include "daemon/root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "cgroup/mount.h"

namespace corral::daemon {
namespace {

constexpr const char* kRuns = "runs";
constexpr const char* kOwnName = "corral";  // below the caller's own cgroup
constexpr const char* kRemedy =
    "run as root, or give --cgroup-root a cgroup that is delegated to this user (Delegate=yes in "
    "its unit)";

Error with_remedy(Error error) {
  error.message += fmt::format("; {}", kRemedy);
  return error;
}

// The directory, made when it is missing.
Result<cgroup::Group> open_or_make(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), 0755) < 0 && errno != EEXIST)
    return failed(errno, fmt::format("mkdir {}", name));
  return cgroup::Group::open(parent, name);
}

Result<std::string> default_directory(const cgroup::Mount& mount) {
  auto own = cgroup::path_of(0);
  if (!own) return own;
  return fmt::format("{}{}/{}", mount.path, *own == "/" ? "" : *own, kOwnName);
}

}  // namespace

Result<cgroup::Group> RunDirectory::open() const {
  auto group = cgroup::Group::open(runs_, name_);
  if (group && group->id() != id_)
    return failed(ENOENT, fmt::format("open {}: recreated by someone else", name_));
  return group;
}

Result<cgroup::Group> RunDirectory::open_part(const char* part) const {
  auto group = open();
  if (!group) return group;
  return cgroup::Group::open(group->fd(), part);
}

Result<cgroup::Group> RunDirectory::open_work() const {
  return open_part("work");
}

Result<Root> Root::open(const std::optional<std::string>& directory) {
  auto mount = cgroup::find_mount();
  if (!mount) return mount.error();
  auto path = directory ? Result<std::string>(*directory) : default_directory(*mount);
  if (!path) return path.error();
  auto root = open_or_make(AT_FDCWD, *path);
  if (!root) return with_remedy(root.error());
  auto runs = open_or_make(root->fd(), kRuns);
  if (!runs) return with_remedy(runs.error());
  if (faccessat(runs->fd(), ".", W_OK, AT_EACCESS) < 0)
    return with_remedy(failed(errno, fmt::format("write to {}/runs", *path)));
  auto below = cgroup::path_of(*runs);
  if (!below) return below.error();
  return Root(std::move(*runs), std::move(*below));
}

Result<cgroup::Group> Root::create(const std::string& name) const {
  return cgroup::Group::create(runs_.fd(), name);
}

Result<std::optional<run::DirectoryName>> Root::run_of(int pid) const {
  auto path = cgroup::path_of(pid);
  if (!path) return path.error();
  const std::string prefix = path_ + "/";
  if (!path->starts_with(prefix)) return std::optional<run::DirectoryName>{};
  const std::string below = path->substr(prefix.size());
  return run::parse_directory_name(below.substr(0, below.find('/')));
}

}  // namespace corral::daemon
