#include "cgroup/record.h"

#include <fmt/format.h>
#include <linux/limits.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

namespace corral::cgroup {
namespace {

// The kernel keeps the attributes of a removed directory for as long as somebody holds it open, and
// takes new ones; a record that nobody else can find is none.
bool is_there(const Group& group) {
  return faccessat(group.fd(), "cgroup.procs", F_OK, 0) == 0;
}

Error cannot(const char* action, const char* name, const Group& group, int code) {
  return failed(code, fmt::format("{} attribute {} of {}", action, name, group.name()));
}

}  // namespace

Result<void> write_record(const Group& group, const char* name, std::string_view value) {
  if (fsetxattr(group.fd(), name, value.data(), value.size(), 0) < 0)
    return cannot("set", name, group, errno);
  if (!is_there(group)) return cannot("set", name, group, ENODEV);
  return {};
}

Result<std::optional<std::string>> read_record(const Group& group, const char* name) {
  std::string value(XATTR_SIZE_MAX, '\0');
  const ssize_t size = fgetxattr(group.fd(), name, value.data(), value.size());
  if (size < 0 && (errno == ENODATA || errno == ENODEV || errno == ENOENT))
    return std::optional<std::string>{};
  if (size < 0) return cannot("get", name, group, errno);
  if (!is_there(group)) return std::optional<std::string>{};
  value.resize(static_cast<size_t>(size));
  return std::optional(std::move(value));
}

}  // namespace corral::cgroup
