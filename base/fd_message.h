#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"

namespace corral::base {

// The most fds that go with one message here.
inline constexpr size_t kMostFds = 8;

// As send(2) with MSG_NOSIGNAL, and the fds with it (unix(7), SCM_RIGHTS): at most kMostFds, which
// are borrowed.
ssize_t send_with_fds(int socket, const void* bytes, size_t size, const std::vector<int>& fds);
// As recv(2). Every fd that came goes to `fds`, close-on-exec, so that none is lost whatever the
// message says.
ssize_t receive_with_fds(int socket, void* bytes, size_t size, int flags,
                         std::vector<UniqueFd>& fds);

}  // namespace corral::base
