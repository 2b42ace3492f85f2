#pragma once

#include <string>
#include <vector>

#include "cgroup/group.h"
#include "harness/guardian.h"

namespace corral::harness {

// A cgroup of the test's own below the cgroup that the test runs in, on the cgroup2 mount. What is
// left in it at the end is killed, and it is removed with all that is below; so it is when the test
// itself is killed.
class ScratchGroup {
 public:
  // Skips nothing and hides nothing: throws where there is no cgroup2 mount or no right to it.
  ScratchGroup();
  ScratchGroup(const ScratchGroup&) = delete;
  ScratchGroup& operator=(const ScratchGroup&) = delete;
  ~ScratchGroup();

  // Where it lies in the file system.
  const std::string& path() const { return path_; }
  // Where it lies below the mount, as /proc/PID/cgroup says it.
  const std::string& control_group() const { return control_group_; }
  const cgroup::Group& group() const { return group_; }
  // Makes `name` (one level or "a/b" below what is there already).
  cgroup::Group make(const std::string& name) const;

 private:
  std::string path_;
  std::string control_group_;
  cgroup::Group group_;
  Guardian guardian_;
};

// The directories below `path`, at whatever depth, relative to it; sorted. None where it is gone.
std::vector<std::string> directories_below(const std::string& path);

}  // namespace corral::harness
