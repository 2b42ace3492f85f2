#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "run/id.h"
#include "run/policy.h"

namespace corral::run {

// One of the driver's standard streams: /dev/null, a file that is opened with O_APPEND or O_TRUNC
// (created with 0666 less the umask), or an fd that came with the request.
struct Stream {
  enum class Kind { null, append, truncate, fd };
  Kind kind = Kind::null;
  std::string path;  // absolute; append and truncate only
  UniqueFd fd;       // fd only
};

// The most that a field may hold, in bytes or entries; past it LimitExceeded names the field.
inline constexpr size_t kOwnerBytes = 256;
inline constexpr size_t kTokenBytes = 256;
inline constexpr size_t kDescriptionBytes = 256;
inline constexpr size_t kKeepGlobs = 16;
inline constexpr size_t kKeepBytes = 1024;
inline constexpr size_t kLabels = 32;
inline constexpr size_t kLabelKeyBytes = 64;
inline constexpr size_t kLabelValueBytes = 256;

// What an engine asks for with StartRun, or, less what concerns a driver of ours, with OpenRun.
struct Spec {
  RunId id;
  std::vector<std::string>
      argv;           // at least one; the first is looked up in the PATH of `environment`
  std::string owner;  // a name for people and filters; grants nothing
  std::string token;  // same id and token: the same invocation, not a second run
  std::string description;
  std::map<std::string, std::string> labels;
  std::string working_directory = "/";  // absolute
  std::vector<std::string>
      environment;  // NAME=value; CORRAL_RUN_ID and CORRAL_INVOCATION are added
  Stream input, output, error;
  Policy policy;
  std::optional<std::string> parent = {};  // an id, or "": none; not asked: where the caller sits
};

}  // namespace corral::run
