#include "cgroup/group.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/file.h"
#include "base/parse.h"

namespace corral::cgroup {
namespace {

struct CloseDir {
  void operator()(DIR* directory) const {
    (void)closedir(directory);
  }  // read only: nothing to lose
};

Result<void> check_file_system(int fd, const std::string& name) {
  struct statfs file_system {};
  if (fstatfs(fd, &file_system) < 0) return failed(errno, fmt::format("statfs {}", name));
  if (file_system.f_type == CGROUP2_SUPER_MAGIC) return {};
  return Error{fmt::format("open {}: not on a cgroup2 file system", name), EMEDIUMTYPE};
}

}  // namespace

Result<Events> parse_events(std::string_view text) {
  const auto populated = base::keyed(text, "populated");
  if (!populated) return Error{"cgroup.events has no populated line", EBADMSG};
  return Events{.populated = *populated != 0,
                .frozen = base::keyed(text, "frozen").value_or(0) != 0};
}

Group::Group(UniqueFd fd, std::string name, uint64_t id, uint32_t owner)
    : fd_(std::move(fd)), name_(std::move(name)), id_(id), owner_(owner) {}

Result<Group> Group::open(int parent, const std::string& name) {
  auto directory = base::open_at(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory) return directory.error();
  if (auto checked = check_file_system(directory->get(), name); !checked) return checked.error();
  return adopt(std::move(*directory), name);
}

Result<Group> Group::create(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), 0755) < 0) return failed(errno, fmt::format("mkdir {}", name));
  auto group = open(parent, name);
  if (!group) (void)unlinkat(parent, name.c_str(), AT_REMOVEDIR);  // the first error is reported
  return group;
}

Result<Group> Group::adopt(UniqueFd directory, std::string name) {
  struct stat status {};
  if (fstat(directory.get(), &status) < 0) return failed(errno, fmt::format("stat {}", name));
  return Group(std::move(directory), std::move(name), status.st_ino, status.st_uid);
}

Result<Events> Group::events() const {
  auto text = base::read_at(fd(), "cgroup.events");
  if (!text) return Error{fmt::format("{}: {}", name_, text.error().message), text.error().code};
  return parse_events(*text);
}

Result<std::vector<std::string>> Group::children() const {
  std::vector<std::string> names;
  // "." is opened anew: a duplicate would share the offset with every other reader of this fd.
  auto again = base::open_at(fd(), ".", O_RDONLY | O_DIRECTORY);
  if (!again && is_gone(again.error())) return names;
  if (!again) return failed(again.error().code, fmt::format("open {}", name_));
  const std::unique_ptr<DIR, CloseDir> directory(fdopendir(again->get()));
  if (!directory) return failed(errno, fmt::format("read directory {}", name_));
  (void)again->release();  // the DIR owns it now
  errno = 0;
  while (const dirent* entry = readdir(directory.get())) {
    // kernfs always fills in d_type; every directory in a cgroup is a cgroup.
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0 && errno != ENOENT && errno != ENODEV)
    return failed(errno, fmt::format("read directory {}", name_));
  std::sort(names.begin(), names.end());
  return names;
}

bool is_gone(const Error& error) {
  return error.code == ENOENT || error.code == ENODEV;
}

}  // namespace corral::cgroup
