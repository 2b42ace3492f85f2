#pragma once

#include <string>

#include "base/result.h"

namespace corral::cli {

// A directory of our own, mode 0700, below $XDG_RUNTIME_DIR, else below /tmp; removed with all that
// is in it.
class PrivateDirectory {
 public:
  static Result<PrivateDirectory> create();
  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace corral::cli
