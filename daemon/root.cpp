#include "daemon/root.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/file.h"
#include "cgroup/mount.h"
#include "cgroup/processes.h"
#include "cgroup/record.h"

namespace corral::daemon {
namespace {

constexpr const char* kRuns = "runs";
constexpr std::string_view kNestedRuns = "/runs/";  // between a run and one that is nested in it
constexpr const char* kOwnName = "corral";          // below the caller's own cgroup
constexpr const char* kRemedy =
    "run as root, or give --cgroup-root a cgroup that is delegated to this user (Delegate=yes in "
    "its unit)";

Error with_remedy(Error error) {
  error.message += fmt::format("; {}", kRemedy);
  return error;
}

// The directory, made when it is missing, below a cgroup: nowhere else is a directory made.
Result<cgroup::Group> open_or_make(int parent, const std::string& name) {
  const auto above = std::filesystem::path(name).parent_path().string();
  if (!above.empty())
    if (auto group = cgroup::Group::open(parent, above); !group) return group;
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
  auto group = cgroup::Group::open(runs_, place_);
  if (group && group->id() != id_)
    return failed(ENOENT, fmt::format("open {}: recreated by someone else", place_));
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

Result<void> RunDirectory::write_record(const char* name, const std::string& json) const {
  auto group = open();
  if (!group) return group.error();
  return cgroup::write_record(*group, name, json);
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
  if (flock(runs->fd(), LOCK_EX | LOCK_NB) < 0)  // for as long as we have it open
    return failed(errno, fmt::format("lock {}/runs: another corrald has it; give this one a "
                                     "--cgroup-root of its own",
                                     *path));
  if (faccessat(runs->fd(), ".", W_OK, AT_EACCESS) < 0)
    return with_remedy(failed(errno, fmt::format("write to {}/runs", *path)));
  auto below = cgroup::path_of(*runs);
  if (!below) return below.error();
  return Root(std::move(*runs), std::move(*below), fmt::format("{}/{}", *path, kRuns));
}

bool Root::exists() const {
  // A cgroup that was removed has no files any more.
  return faccessat(runs_.fd(), "cgroup.procs", F_OK, 0) == 0 || errno != ENOENT;
}

Result<void> Root::become(const Root& anew) {
  if (dup3(anew.runs_.fd(), runs_.fd(), O_CLOEXEC) < 0) return failed(errno, "duplicate an fd");
  path_ = anew.path_;
  directory_ = anew.directory_;
  return {};
}

Result<cgroup::Group> Root::create(const std::string& place) const {
  if (const auto parent = place.rfind('/'); parent != place.npos) {
    const std::string runs = place.substr(0, parent);
    if (mkdirat(runs_.fd(), runs.c_str(), 0755) < 0 && errno != EEXIST)
      return failed(errno, fmt::format("mkdir {}", runs));
  }
  return cgroup::Group::create(runs_.fd(), place);
}

std::vector<std::string> Root::nested_in(const std::string& place) const {
  std::vector<std::string> places;
  const auto runs = cgroup::Group::open(runs_.fd(), place + "/" + kRuns);
  const auto names = runs ? runs->children() : Result<std::vector<std::string>>(runs.error());
  for (const auto& name : names.value_or(std::vector<std::string>{}))
    places.push_back(nested_place(place, name));
  return places;
}

Result<std::optional<run::DirectoryName>> Root::run_of(int pid) const {
  auto path = cgroup::path_of(pid);
  if (!path) return path.error();
  std::optional<run::DirectoryName> innermost;
  const std::string prefix = path_ + "/";
  if (!path->starts_with(prefix)) return innermost;
  std::string_view rest = std::string_view(*path).substr(prefix.size());
  for (;;) {
    const auto name = rest.substr(0, rest.find('/'));
    const auto run = run::parse_directory_name(name);
    if (!run) return innermost;
    innermost = run;
    rest.remove_prefix(name.size());
    if (!rest.starts_with(kNestedRuns)) return innermost;
    rest.remove_prefix(kNestedRuns.size());
  }
}

std::vector<pid_t> Root::keepers() const {
  const auto init = cgroup::Group::open(runs_.fd(), "../init");
  const auto members = init ? cgroup::members(*init) : Result<std::vector<cgroup::Member>>(Error{});
  std::vector<pid_t> pids;
  for (const auto& member : members.value_or(std::vector<cgroup::Member>{}))
    pids.push_back(member.pid);
  return pids;
}

std::string nested_place(const std::string& parent, const std::string& name) {
  return fmt::format("{}/{}/{}", parent, kRuns, name);
}

}  // namespace corral::daemon
