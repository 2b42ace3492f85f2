#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace corral::unit {

// A directory of its own, removed with all that is in it.
class ScratchDir {
 public:
  ScratchDir() : path_(std::filesystem::temp_directory_path() / "corral-unit-XXXXXX") {
    if (!mkdtemp(path_.data())) throw std::runtime_error("mkdtemp " + path_);
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir() {
    std::error_code ignored;  // a destructor has nobody to tell
    std::filesystem::remove_all(path_, ignored);
  }

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  size_t entries() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

}  // namespace corral::unit
