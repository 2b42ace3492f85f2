#include "cli/report_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"
#include "cli/output.h"

namespace corral::cli {
namespace {

constexpr mode_t kFresh = 0666;

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// The number in "/dev/fd/3".
std::optional<int> fd_in(std::string_view path) {
  for (const std::string_view above : {"/dev/fd/", "/proc/self/fd/"})
    if (path.starts_with(above)) return base::number<int>(path.substr(above.size()));
  return std::nullopt;
}

// Our own stream that the path leads to (/dev/stdout, or the file that it was redirected to).
UniqueFd stream_at(const std::string& path) {
  if (const auto fd = fd_in(path)) return UniqueFd(fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  struct stat named {
  }, ours{};
  if (stat(path.c_str(), &named) != 0) return UniqueFd();
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO})
    if (fstat(fd, &ours) == 0 && is_same(named, ours))
      return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  return UniqueFd();
}

// What has nothing to do with the report, and will not be had by a second try.
bool may_write_over(int code) {
  // EBUSY: a mount point, as a file that was put into a container is. EPERM: another's, in /tmp.
  return code == EACCES || code == EPERM || code == EBUSY;
}

// Owner and permissions of the old file; never what makes a program run as another (inode(7)), and
// no permission that its owner gave where it becomes another's.
void take_after(int file, const struct stat& old) {
  const bool owned =
      old.st_uid == geteuid() || fchown(file, old.st_uid, static_cast<gid_t>(-1)) == 0;
  if (owned) (void)fchmod(file, old.st_mode & 0777);  // a file system without modes
}

}  // namespace

Result<ReportFile> ReportFile::open(const std::string& path) {
  ReportFile file(path);
  file.direct_ = stream_at(path);
  file.shared_ = static_cast<bool>(file.direct_);
  if (file.shared_) return file;
  struct stat there {};
  const bool free = lstat(path.c_str(), &there) != 0;
  if (free && errno != ENOENT) return failed(errno, "open " + path);
  if (!free) {
    auto opened =
        base::open_at(AT_FDCWD, path, O_WRONLY | (S_ISLNK(there.st_mode) ? O_CREAT : 0), kFresh);
    if (!opened) return opened.error();
    file.direct_ = std::move(*opened);
  }
  if (!free && !S_ISREG(there.st_mode)) return file;
  auto directory = file.open_directory();
  if (directory)
    file.direct_.reset();
  else if (free)
    return directory.error();
  return file;
}

Result<void> ReportFile::open_directory() {
  const size_t slash = path_.rfind('/');
  const bool here = slash == std::string::npos;
  name_ = here ? path_ : path_.substr(slash + 1);
  if (name_.empty()) return failed(path_.empty() ? ENOENT : EISDIR, "open " + path_);
  const std::string above = here ? "." : path_.substr(0, slash + 1);
  directory_ = UniqueFd(::open(above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (directory_ && faccessat(directory_.get(), ".", W_OK | X_OK, AT_EACCESS) == 0) return {};
  const int code = errno;
  directory_.reset();
  return failed(code, "open " + path_);
}

Result<void> ReportFile::write(std::string_view text) const {
  if (directory_) {
    auto written = put_in_place(text);
    if (written || !may_write_over(written.error().code)) return written;
    return write_over(text);
  }
  struct stat there {};
  const bool regular = fstat(direct_.get(), &there) == 0 && S_ISREG(there.st_mode);
  if (!shared_ && regular && ftruncate(direct_.get(), 0) != 0)
    return failed(errno, "truncate " + path_);
  return write_all(direct_.get(), text, path_);
}

Result<void> ReportFile::write_over(std::string_view text) const {
  const auto file =
      base::open_at(directory_.get(), name_, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, kFresh);
  if (!file) return failed(file.error().code, "open " + path_);
  return write_all(file->get(), text, path_);
}

Result<void> ReportFile::put_in_place(std::string_view text) const {
  const int dir = directory_.get();
  const std::string temporary = ".corralctl-" + base::random_hex();
  const auto file = base::open_at(dir, temporary, O_WRONLY | O_CREAT | O_EXCL, kFresh);
  if (!file) return failed(file.error().code, "write a file beside " + path_);
  struct stat old {};
  if (fstatat(dir, name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode))
    take_after(file->get(), old);
  auto written = write_all(file->get(), text, path_);
  if (written && renameat(dir, temporary.c_str(), dir, name_.c_str()) != 0)
    written = failed(errno, fmt::format("rename {} to {}", temporary, path_));
  if (!written) (void)unlinkat(dir, temporary.c_str(), 0);  // the error that is told came first
  return written;
}

}  // namespace corral::cli
