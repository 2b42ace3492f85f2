#include "harness/scratch_group.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "cgroup/control.h"
#include "cgroup/mount.h"
#include "harness/eventually.h"
#include "harness/must.h"

namespace corral::harness {
namespace {

std::string fresh_name() {
  static std::atomic<unsigned> counter{0};
  return "corral-test-" + std::to_string(getpid()) + "-" + std::to_string(++counter);
}

// The caller's own cgroup as a path below the mount, without a "/" at its end.
std::string own_group() {
  std::string path = must(cgroup::path_of(0));
  if (path == "/") path.clear();
  return path;
}

// Kills what is in it and removes it. What does not go in time stays.
void end_and_remove(const cgroup::Group& group, const std::string& path) {
  if (!cgroup::kill(group) || !cgroup::kill_by_walk(group)) return;  // rmdir then says EBUSY
  (void)cgroup::wait_populated(group, false, kDeadline);
  std::vector<std::string> doomed = directories_below(path);
  std::reverse(doomed.begin(), doomed.end());  // depth first
  for (std::string& name : doomed) name.insert(0, path + "/");
  doomed.push_back(path);
  for (const std::string& directory : doomed) {
    // The kernel can say EBUSY for a moment after the last process went.
    (void)eventually(std::chrono::seconds{5},
                     [&] { return rmdir(directory.c_str()) == 0 || errno != EBUSY; });
  }
}

// As end_and_remove(), for a process that holds no fd of it.
void end_and_remove(const std::string& path) {
  const auto group = cgroup::Group::open(AT_FDCWD, path);
  if (group) end_and_remove(*group, path);
}

}  // namespace

ScratchGroup::ScratchGroup()
    : control_group_(own_group() + "/" + fresh_name()),
      group_(
          must(cgroup::Group::create(AT_FDCWD, must(cgroup::find_mount()).path + control_group_))),
      guardian_([path = group_.name()] { end_and_remove(path); }) {
  path_ = group_.name();
}

ScratchGroup::~ScratchGroup() {
  end_and_remove(group_, path_);
}

cgroup::Group ScratchGroup::make(const std::string& name) const {
  return must(cgroup::Group::create(AT_FDCWD, path_ + "/" + name));
}

std::vector<std::string> directories_below(const std::string& path) {
  std::vector<std::string> found;
  std::error_code gone;
  const auto end = std::filesystem::recursive_directory_iterator{};
  for (auto entry = std::filesystem::recursive_directory_iterator(path, gone); entry != end;
       entry.increment(gone)) {
    if (gone) break;
    std::error_code vanished;
    if (entry->is_directory(vanished)) {
      found.push_back(entry->path().lexically_relative(path).string());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace corral::harness
