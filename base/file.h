#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace corral::base {

// All paths are relative to the directory `dir` (AT_FDCWD for the working directory); errors name
// the path.

// openat(2) with O_CLOEXEC added.
Result<UniqueFd> open_at(int dir, const std::string& path, int flags, mode_t mode = 0600);

// mkdirat(2), then the new directory opened. EEXIST is an error like any other. A directory that
// cannot be opened (EMFILE) is removed again.
Result<UniqueFd> make_dir_at(int dir, const std::string& path, mode_t mode = 0755);

// The whole file, however long read(2) takes. Fails with EFBIG past `limit` bytes.
Result<std::string> read_at(int dir, const std::string& path, size_t limit = size_t{16} << 20);

// One write(2) of the whole text: what kernel interface files take. A short write is an error
// (EIO).
Result<void> write_at(int dir, const std::string& path, std::string_view text);

// Writes `text` to a temporary name and renames it into place, so that a reader sees the old file,
// the new one or none, never a part. Leaves no temporary file behind. Not synced: see rename(2),
// fsync(2).
Result<void> replace_at(int dir, const std::string& name, std::string_view text);

}  // namespace corral::base
