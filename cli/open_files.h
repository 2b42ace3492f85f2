#pragma once

#include <cstddef>

#include "base/result.h"

namespace corral::cli {

// Files that are open at once at the most, next to those of the caller: of an attached run, and of
// each part of an embedded service, which has our limit.
inline constexpr size_t kAttachedFiles = 12, kEmbeddedFiles = 32;

// Whether so many more files can be opened (RLIMIT_NOFILE). To be asked before anything is started:
// later it would be whichever file comes first that fails, in whichever process.
Result<void> expect_open_files(size_t count);

}  // namespace corral::cli
