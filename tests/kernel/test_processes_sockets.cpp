#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <fstream>

#include "cgroup/sockets.h"
#include "processes_test.h"

namespace corral::cgroup {
namespace {

using ListeningTest = ProcessesTest;
using testing::ElementsAre;

UniqueFd bound(int family, int type, const sockaddr* address, size_t size) {
  UniqueFd fd(socket(family, type | SOCK_CLOEXEC, 0));
  if (!fd || bind(fd.get(), address, static_cast<socklen_t>(size)) < 0)
    throw std::runtime_error("bind");
  if (type != SOCK_DGRAM && listen(fd.get(), 1) < 0) throw std::runtime_error("listen");
  return fd;
}

UniqueFd bound_v4(int type) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bound(AF_INET, type, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

UniqueFd bound_v6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return bound(AF_INET6, SOCK_STREAM, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

// An abstract name begins with NUL (unix(7)).
UniqueFd bound_unix(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, name.data(), name.size());
  return bound(AF_UNIX, SOCK_STREAM, reinterpret_cast<sockaddr*>(&address),
               offsetof(sockaddr_un, sun_path) + name.size());
}

std::string port(const UniqueFd& fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) < 0) return "?";
  // The port lies at the same place in both families.
  return std::to_string(ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port));
}

// A directory for a socket, gone at the end.
class SocketPath {
 public:
  SocketPath() {
    if (!mkdtemp(directory_.data())) throw std::runtime_error("mkdtemp");
  }
  SocketPath(const SocketPath&) = delete;
  SocketPath& operator=(const SocketPath&) = delete;
  ~SocketPath() { std::filesystem::remove_all(directory_); }
  std::string operator/(const char* name) const { return directory_ + "/" + name; }

 private:
  std::string directory_ = (std::filesystem::temp_directory_path() / "corral-XXXXXX").string();
};

TEST_F(ListeningTest, EveryKindIsNamedAndSorted) {
  const SocketPath directory;
  const std::string abstract = "corral-" + std::to_string(getpid());
  const UniqueFd tcp = bound_v4(SOCK_STREAM), udp = bound_v4(SOCK_DGRAM), tcp6 = bound_v6(),
                 file = bound_unix(directory / "a b\xff"),
                 nameless = bound_unix(std::string(1, '\0') + abstract);
  const Child child(group(), linger);  // has them all, too
  EXPECT_THAT(only().listening,
              ElementsAre("tcp:127.0.0.1:" + port(tcp), "tcp:[::1]:" + port(tcp6),
                          "udp:127.0.0.1:" + port(udp), "unix:" + (directory / "a b\\xff"),
                          "unix:@" + abstract));
}

TEST_F(ListeningTest, AConnectedSocketIsNotNamed) {
  const UniqueFd listener = bound_v4(SOCK_STREAM);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const UniqueFd client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  const Child child(group(), [&] {
    close(listener.get());
    return linger();
  });
  EXPECT_TRUE(eventually([&] { return only().listening.empty(); }));
}

TEST_F(ListeningTest, ServersInSessionsOfTheirOwnAreFoundWithTheirPorts) {
  const SocketPath directory;
  Misbehaving driver(group(), {"servers", "5", directory / "ports"});
  EXPECT_EQ(driver.wait(), 0);
  std::map<std::string, std::string> expected, found;
  std::ifstream ports(directory / "ports");
  for (std::string name, number; ports >> name >> number;)
    expected[name] = "tcp:127.0.0.1:" + number;
  for (const auto& [pid, process] : look_at(group()))
    found[process.comm] = process.listening.empty() ? "" : process.listening[0];
  EXPECT_EQ(expected.size(), 6U);
  EXPECT_EQ(found, expected);
}

TEST_F(ListeningTest, AListenerOfAProcessWhoseLeaderHasExitedIsFound) {
  const UniqueFd listener = bound_v4(SOCK_STREAM);
  ASSERT_EQ(fcntl(listener.get(), F_SETFD, 0), 0);
  const Misbehaving child(group(), {"dead-leader"});
  EXPECT_THAT(only().listening, ElementsAre("tcp:127.0.0.1:" + port(listener)));
}

TEST_F(ListeningTest, EachNetworkNamespaceHasItsOwnTable) {
  const UniqueFd outside = bound_v4(SOCK_STREAM);
  const Signpost there;
  const Child other(group(), [&] {
    close(outside.get());
    if (unshare(CLONE_NEWNET) < 0) return 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(4711);
    const UniqueFd inside =
        bound(AF_INET, SOCK_STREAM, reinterpret_cast<sockaddr*>(&address), sizeof address);
    there.reached();
    return linger();
  });
  ASSERT_TRUE(there.wait());
  const Child same(group(), linger);
  const auto seen = look_at(group());
  EXPECT_THAT(seen.at(other.pid()).listening, ElementsAre("tcp:0.0.0.0:4711"));
  EXPECT_THAT(seen.at(same.pid()).listening, ElementsAre("tcp:127.0.0.1:" + port(outside)));
}

TEST_F(ListeningTest, AHoardOfListenersIsCut) {
  const Signpost there;
  const Child child(group(), [&] {
    std::vector<UniqueFd> hoard;
    for (int i = 0; i < 400; ++i) hoard.push_back(bound_v4(SOCK_STREAM));
    there.reached();
    return linger();
  });
  ASSERT_TRUE(there.wait());
  size_t bytes = 0;
  const auto listening = only().listening;
  for (const std::string& name : listening) bytes += name.size();
  EXPECT_LE(bytes, Sockets::kShownBytes);
  EXPECT_GT(listening.size(), 150U);
}

}  // namespace
}  // namespace corral::cgroup
