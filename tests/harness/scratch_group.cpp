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

}  // namespace

ScratchGroup::ScratchGroup()
    : control_group_(own_group() + "/" + fresh_name()),
      group_(
          must(cgroup::Group::create(AT_FDCWD, must(cgroup::find_mount()).path + control_group_))) {
  path_ = group_.name();
}

ScratchGroup::~ScratchGroup() {
  if (!cgroup::kill(group_) || !cgroup::kill_by_walk(group_)) return;  // rmdir then says EBUSY
  (void)cgroup::wait_populated(group_, false, kDeadline);
  std::vector<std::string> below = directories_below(path_);
  std::reverse(below.begin(), below.end());  // depth first
  for (const std::string& name : below) {
    // The kernel can say EBUSY for a moment after the last process went.
    (void)eventually(std::chrono::seconds{5},
                     [&] { return rmdir((path_ + "/" + name).c_str()) == 0 || errno != EBUSY; });
  }
  (void)eventually(std::chrono::seconds{5},
                   [&] { return rmdir(path_.c_str()) == 0 || errno != EBUSY; });
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
