#include "base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace corral::base {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int UniqueFd::release() {
  return std::exchange(fd_, -1);
}

void UniqueFd::reset() {
  if (fd_ < 0) return;
  const int saved = errno;  // so that a close on an error path keeps the error
  (void)close(release());   // Linux frees the fd even where close(2) reports an error
  errno = saved;
}

Result<UniqueFd> UniqueFd::duplicate() const {
  UniqueFd copy(fcntl(fd_, F_DUPFD_CLOEXEC, 0));
  if (!copy) return failed(errno, "duplicate a file descriptor");
  return copy;
}

}  // namespace corral::base
