#pragma once

#include <string>

#include "base/result.h"

namespace corral::cli {

// A directory of our own, mode 0700, below $XDG_RUNTIME_DIR, else below /tmp; removed with all that
// is in it, which two processes may do.
class PrivateDirectory {
 public:
  static Result<PrivateDirectory> create();
  // One that another process has created.
  static PrivateDirectory adopt(std::string path) { return PrivateDirectory(std::move(path)); }
  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();

  const std::string& path() const { return path_; }
  // Success where it is gone already. A second call does nothing.
  Result<void> remove();
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace corral::cli
