#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cgroup/group.h"

namespace corral::cli {

// A cgroup of our own for the embedded service's runs: a fresh directory below the caller's own
// cgroup, or below `parent` where one is given. Whatever is left in it at the end is killed, and it
// is removed.
class WorkingGroup {
 public:
  // Fails with the remedy where the cgroup is not ours to write.
  static Result<WorkingGroup> create(const std::optional<std::string>& parent);
  // One that another process has created. Two may remove it.
  static Result<WorkingGroup> adopt(UniqueFd parent, const std::string& parent_path, UniqueFd group,
                                    const std::string& name);
  WorkingGroup(WorkingGroup&&) noexcept = default;
  WorkingGroup& operator=(WorkingGroup&&) = delete;
  ~WorkingGroup();

  const std::string& parent_path() const { return parent_path_; }
  const std::string& name() const { return group_->name(); }
  // Of the parent and of itself: for adopt() in another process. Borrowed.
  std::vector<int> fds() const { return {parent_.fd(), group_->fd()}; }
  int fd() const { return group_->fd(); }
  std::string path() const { return parent_path_ + "/" + group_->name(); }
  // Kills, proves and removes, within bounds; says what is left. A second call does nothing.
  Result<void> remove();

 private:
  WorkingGroup(cgroup::Group parent, std::string parent_path, cgroup::Group group);
  cgroup::Group parent_;
  std::string parent_path_;
  std::optional<cgroup::Group> group_;
};

}  // namespace corral::cli
