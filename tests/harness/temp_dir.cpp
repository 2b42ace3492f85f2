#include "harness/temp_dir.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace corral::harness {

TempDir::TempDir() {
  // Short, because socket addresses are made of it (unix(7): 108 bytes).
  path_ = std::filesystem::temp_directory_path() / "corral-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "make directory " + path_);
  }
}

TempDir::~TempDir() {
  std::error_code ignored;  // what a test made unremovable on purpose stays
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace corral::harness
