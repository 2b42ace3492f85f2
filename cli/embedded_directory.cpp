#include "cli/embedded_directory.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace corral::cli {
namespace {

// With the longest name of ours behind it, a path must fit into sockaddr_un (unix(7)): 108 bytes.
constexpr size_t kLongestParent = 70;

Result<std::string> make_below(const std::string& parent) {
  std::string path = parent + "/corralctl-XXXXXX";
  if (parent.size() > kLongestParent) return failed(ENAMETOOLONG, "make a directory in " + parent);
  if (mkdtemp(path.data()) == nullptr) return failed(errno, "make a directory in " + parent);
  return path;
}

}  // namespace

Result<PrivateDirectory> PrivateDirectory::create() {
  if (const char* runtime = getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime == '/')
    if (auto path = make_below(runtime)) return PrivateDirectory(std::move(*path));
  // sudo and su leave the variable of another user behind.
  auto path = make_below("/tmp");
  if (!path) return path.error();
  return PrivateDirectory(std::move(*path));
}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

PrivateDirectory::~PrivateDirectory() {
  (void)remove();  // whoever wants to know has called it
}

Result<void> PrivateDirectory::remove() {
  const std::string path = std::exchange(path_, {});
  std::error_code error;
  if (!path.empty()) std::filesystem::remove_all(path, error);
  if (error) return failed(error.value(), "remove " + path);
  return {};
}

}  // namespace corral::cli
