#include "cgroup/mount.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <vector>

#include "base/file.h"
#include "base/parse.h"

namespace corral::cgroup {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// The kernel writes space, tab, newline and backslash as \ooo in /proc/PID/mountinfo.
std::string unescape(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto octal = text.front() == '\\' && text.size() >= 4
                           ? base::number<unsigned char>(text.substr(1, 3), 8)
                           : std::nullopt;
    plain += octal ? static_cast<char>(*octal) : text.front();
    text.remove_prefix(octal ? 4 : 1);
  }
  return plain;
}

struct Line {
  uint64_t id = 0;
  Mount mount;
};

// A line of a cgroup2 mount: id, parent, device, root, path, options, optional fields, "-", type.
std::optional<Line> parse_line(std::string_view text) {
  const auto fields = base::split(text, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 2 || dash[1] != "cgroup2")
    return std::nullopt;
  const auto id = base::number<uint64_t>(fields[0]);
  if (!id) return std::nullopt;
  return Line{*id, Mount{.path = unescape(fields[4]), .root = unescape(fields[3])}};
}

Result<uint64_t> mount_id(const Group& group) {
  struct statx status {};
  if (statx(group.fd(), "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0)
    return failed(errno, fmt::format("statx {}", group.name()));
  return status.stx_mnt_id;
}

Result<std::string> seen_path(const Group& group) {
  char buffer[PATH_MAX];
  const std::string link = fmt::format("/proc/self/fd/{}", group.fd());
  const ssize_t size = readlink(link.c_str(), buffer, sizeof buffer);
  if (size < 0) return failed(errno, fmt::format("find the path of {}", group.name()));
  return std::string(buffer, static_cast<size_t>(size));
}

// `seen` without the mount's own path in front; "" for the mount's root itself.
std::optional<std::string> below(const std::string& seen, const std::string& mount_path) {
  if (mount_path == "/") return seen == "/" ? "" : seen;
  if (!seen.starts_with(mount_path)) return std::nullopt;
  std::string rest = seen.substr(mount_path.size());
  if (!rest.empty() && rest.front() != '/') return std::nullopt;
  return rest;
}

}  // namespace

std::optional<Mount> parse_mountinfo(std::string_view text, std::optional<uint64_t> id) {
  for (std::string_view text_line : base::split(text, '\n')) {
    auto line = parse_line(text_line);
    if (line && line->id == id.value_or(line->id)) return std::move(line->mount);
  }
  return std::nullopt;
}

Result<Mount> find_mount() {
  auto text = base::read_at(AT_FDCWD, "/proc/self/mountinfo");
  if (!text) return text.error();
  if (auto mount = parse_mountinfo(*text)) return std::move(*mount);
  return failed(ENODEV, "find a cgroup2 mount (mount one: mount -t cgroup2 none /sys/fs/cgroup)");
}

std::optional<std::string> parse_proc_cgroup(std::string_view text) {
  constexpr std::string_view kV2 = "0::";
  for (std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with(kV2)) continue;
    line.remove_prefix(kV2.size());
    if (line.ends_with(kDeleted)) line.remove_suffix(kDeleted.size());
    if (!line.starts_with('/')) return std::nullopt;
    return std::string(line);
  }
  return std::nullopt;
}

Result<std::string> path_of(int pid) {
  const std::string file = pid == 0 ? "/proc/self/cgroup" : fmt::format("/proc/{}/cgroup", pid);
  auto text = base::read_at(AT_FDCWD, file);
  // The process may be gone before the open or before the read.
  if (!text && text.error().code == ENOENT) return failed(ESRCH, fmt::format("open {}", file));
  if (!text) return text.error();
  if (auto path = parse_proc_cgroup(*text)) return std::move(*path);
  return failed(ENOENT, fmt::format("find the cgroup2 line of {}", file));
}

Result<std::string> path_of(const Group& group) {
  // Which mount the fd came through decides what its path means: there may be several, of different
  // parts of the hierarchy.
  const auto id = mount_id(group);
  if (!id) return id.error();
  auto seen = seen_path(group);
  if (!seen) return seen.error();
  if (seen->ends_with(kDeleted)) return failed(ENOENT, fmt::format("find the path of {}", *seen));
  auto text = base::read_at(AT_FDCWD, "/proc/self/mountinfo");
  if (!text) return text.error();
  const auto mount = parse_mountinfo(*text, *id);
  const auto rest = mount ? below(*seen, mount->path) : std::nullopt;
  if (!rest) return failed(ENODEV, fmt::format("find the cgroup2 mount of {}", *seen));
  // A mount from outside of our cgroup namespace: the way from its root to ours is not told.
  if (mount->root == "/.." || mount->root.starts_with("/../"))
    return failed(ENODEV, fmt::format("find the path of {} in this cgroup namespace (mount cgroup2 "
                                      "inside it)",
                                      *seen));
  if (mount->root == "/") return rest->empty() ? "/" : *rest;
  return mount->root + *rest;
}

}  // namespace corral::cgroup
