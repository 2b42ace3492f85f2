#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace corral::cgroup {

// What cgroup.events says (cgroup-v2.rst, "Core Interface Files"), of the cgroup and all below it.
struct Events {
  bool populated = false;
  bool frozen = false;
};
// Fails on text without a populated line; kernels before 5.2 have no frozen line: false.
Result<Events> parse_events(std::string_view text);

// A cgroup v2 directory, held open. The fd stays valid when the path is reused: it then names a
// cgroup that is gone, and every read fails with ENODEV or ENOENT.
class Group {
 public:
  // Opens `name` below the directory `parent` (AT_FDCWD and an absolute path will do), never
  // through a symbolic link in its last part. ENOTDIR where it is no directory, EMEDIUMTYPE where
  // it lies on no cgroup2 file system.
  static Result<Group> open(int parent, const std::string& name);
  // mkdir(2), then open. EEXIST is an error: a cgroup is never reused.
  static Result<Group> create(int parent, const std::string& name);
  // Takes an fd that is known to be a cgroup directory.
  static Result<Group> adopt(UniqueFd directory, std::string name);

  int fd() const { return fd_.get(); }
  // The kernel's cgroup id: the inode of the directory. A recreated path has another.
  uint64_t id() const { return id_; }
  // The uid that owns the directory.
  uint32_t owner() const { return owner_; }
  // As it was opened: for messages.
  const std::string& name() const { return name_; }

  Result<Events> events() const;
  // The names of the directories right below; sorted. A cgroup that is gone has none.
  Result<std::vector<std::string>> children() const;

 private:
  Group(UniqueFd fd, std::string name, uint64_t id, uint32_t owner);
  UniqueFd fd_;
  std::string name_;
  uint64_t id_ = 0;
  uint32_t owner_ = 0;
};

// Whether the error means that the cgroup is gone (ENOENT, ENODEV).
bool is_gone(const Error& error);

}  // namespace corral::cgroup
