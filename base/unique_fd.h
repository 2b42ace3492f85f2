#pragma once

#include "base/result.h"

namespace corral::base {

// Owns one file descriptor and closes it once. Every fd that we own is O_CLOEXEC and in one of
// these from the call that made it; a raw int parameter is borrowed.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Gives the fd to the caller, who closes it.
  int release();
  // Closes the fd now. A second call does nothing.
  void reset();
  // A second fd of the same open file, close-on-exec (fcntl(2), F_DUPFD_CLOEXEC).
  Result<UniqueFd> duplicate() const;

 private:
  int fd_ = -1;
};

}  // namespace corral::base

namespace corral {
using base::UniqueFd;
}
