#include "cli/open_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/unique_fd.h"

namespace corral::cli {

Result<void> expect_open_files(size_t count) {
  std::vector<UniqueFd> files;
  while (files.size() < count) {
    files.emplace_back(files.empty() ? open("/dev/null", O_RDONLY | O_CLOEXEC)
                                     : fcntl(files.front().get(), F_DUPFD_CLOEXEC, 0));
    if (files.back()) continue;
    Error error = failed(errno, fmt::format("open {} files at once", count));
    rlimit limit{};
    if (error.code == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0)
      error.message += fmt::format("; their limit is {}, raise it by {} or more (ulimit -n)",
                                   limit.rlim_cur, count + 1 - files.size());
    return error;
  }
  return {};
}

}  // namespace corral::cli
