#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace corral::base {
namespace {

constexpr size_t kShownBytes = 64;  // of a written text, in an error message

Result<void> write_whole(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno, fmt::format("write {}", path));
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<UniqueFd> open_at(int dir, const std::string& path, int flags, mode_t mode) {
  UniqueFd fd(openat(dir, path.c_str(), flags | O_CLOEXEC, mode));
  if (!fd) return failed(errno, fmt::format("open {}", path));
  return fd;
}

Result<UniqueFd> make_dir_at(int dir, const std::string& path, mode_t mode) {
  if (mkdirat(dir, path.c_str(), mode) < 0) return failed(errno, fmt::format("mkdir {}", path));
  auto fd = open_at(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!fd) (void)unlinkat(dir, path.c_str(), AT_REMOVEDIR);  // the error of open came first
  return fd;
}

Result<std::string> read_at(int dir, const std::string& path, size_t limit) {
  auto fd = open_at(dir, path, O_RDONLY);
  if (!fd) return fd.error();
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t n = read(fd->get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(errno, fmt::format("read {}", path));
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > limit) return failed(EFBIG, fmt::format("read {}", path));
  }
}

Result<void> write_at(int dir, const std::string& path, std::string_view text) {
  auto fd = open_at(dir, path, O_WRONLY);
  if (!fd) return fd.error();
  const ssize_t n = write(fd->get(), text.data(), text.size());
  if (n == static_cast<ssize_t>(text.size())) return {};
  const int code = n < 0 ? errno : EIO;
  return failed(code, fmt::format("write \"{}\" to {}", text.substr(0, kShownBytes), path));
}

Result<void> replace_at(int dir, const std::string& name, std::string_view text) {
  const std::string temporary = name + ".new";
  auto fd = open_at(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC);
  if (!fd) return fd.error();
  auto written = write_whole(fd->get(), text, name);
  if (written && renameat(dir, temporary.c_str(), dir, name.c_str()) < 0)
    written = failed(errno, fmt::format("rename {} to {}", temporary, name));
  if (!written) (void)unlinkat(dir, temporary.c_str(), 0);  // the error that is reported came first
  return written;
}

}  // namespace corral::base
