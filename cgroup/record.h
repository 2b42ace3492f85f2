#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cgroup/group.h"

namespace corral::cgroup {

// Extended attributes of a cgroup directory (xattr(7), namespace user, Linux 5.7): they live as
// long as it does. Setting one raises IN_ATTRIB (inotify(7)) on the directory.

// E2BIG past 65,536 bytes. A second call replaces.
Result<void> write_record(const Group& group, const char* name, std::string_view value);
// nullopt where the attribute, or the cgroup, is not there.
Result<std::optional<std::string>> read_record(const Group& group, const char* name);

}  // namespace corral::cgroup
