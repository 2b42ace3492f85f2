#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace corral::cli {

// What corralctl and the host of its embedded service say to each other: words, and fds with them.
struct HostMessage {
  std::vector<std::string> words;  // without NUL bytes; never empty
  std::vector<UniqueFd> fds;
};

struct HostChannel {
  UniqueFd ours, hosts;  // both ends close-on-exec
};
Result<HostChannel> make_host_channel();

// At most eight fds, borrowed. EPIPE where nobody is at the other end.
Result<void> send_message(int socket, const std::vector<std::string>& words,
                          const std::vector<int>& fds = {});
// Waits for the next message. ECONNRESET at the end of file: the other end has closed, or its
// process is gone.
Result<HostMessage> receive_message(int socket);

}  // namespace corral::cli
