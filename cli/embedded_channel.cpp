#include "cli/embedded_channel.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/parse.h"

namespace corral::cli {
namespace {

constexpr size_t kMostFds = 8;
constexpr size_t kMostBytes = 16'384;  // a path or two, or an error with the end of a log

// Every fd that came, whatever the message says: none is lost.
std::vector<UniqueFd> take_fds(msghdr& message) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

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
  iovec data{.iov_base = text.data(), .iov_len = std::min(text.size(), kMostBytes)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return failed(errno, "send a message");
  return {};
}

Result<HostMessage> receive_message(int socket) {
  std::array<char, kMostBytes> buffer{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostFds * sizeof(int))> control{};
  iovec data{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t size = 0;
  do size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (size < 0 && errno == EINTR);
  if (size < 0) return failed(errno, "receive a message");
  HostMessage received{{}, take_fds(message)};
  for (const auto word :
       base::split(std::string_view(buffer.data(), static_cast<size_t>(size)), '\0'))
    received.words.emplace_back(word);
  if (received.words.empty()) return failed(ECONNRESET, "receive a message");
  return received;
}

}  // namespace corral::cli
