#include "cli/embedded_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd_message.h"
#include "base/parse.h"

namespace corral::cli {
namespace {

constexpr size_t kMostBytes = 16'384;  // a path or two, or an error with the end of a log

}  // namespace

Result<HostChannel> make_host_channel() {
  std::array<int, 2> ends{};
  // Messages keep their bounds, and the end of file tells of a process that is gone.
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return failed(errno, "make a pair of sockets");
  return HostChannel{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<void> send_message(int socket, const std::vector<std::string>& words,
                          const std::vector<int>& fds) {
  std::string text;
  for (const std::string& word : words) text += word + '\0';
  const size_t size = std::min(text.size(), kMostBytes);
  if (base::send_with_fds(socket, text.data(), size, fds) < 0)
    return failed(errno, "send a message");
  return {};
}

Result<HostMessage> receive_message(int socket) {
  std::array<char, kMostBytes> buffer{};
  HostMessage received;
  ssize_t size = 0;
  do size = base::receive_with_fds(socket, buffer.data(), buffer.size(), 0, received.fds);
  while (size < 0 && errno == EINTR);
  if (size < 0) return failed(errno, "receive a message");
  for (const auto word :
       base::split(std::string_view(buffer.data(), static_cast<size_t>(size)), '\0'))
    received.words.emplace_back(word);
  if (received.words.empty()) return failed(ECONNRESET, "receive a message");
  return received;
}

}  // namespace corral::cli
