#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "base/unique_fd.h"
#include "cgroup/sockets.h"

namespace corral::cgroup {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr const char* kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
    "inode\n";
constexpr const char* kUnixHead = "Num       RefCount Protocol Flags    Type St Inode Path\n";

std::string row(const std::string& local, const std::string& remote, const std::string& state,
                const std::string& inode) {
  return "   0: " + local + " " + remote + " " + state +
         " 00000000:00000000 00:00000000 00000000     0        0 " + inode +
         " 1 00000000a6350b5a 100 0 0 10 0\n";
}

SocketNames inet(const std::string& rows, std::string_view protocol) {
  SocketNames names;
  parse_inet(kHead + rows, protocol, names);
  return names;
}

SocketNames local(const std::string& rows) {
  SocketNames names;
  parse_unix(kUnixHead + rows, names);
  return names;
}

TEST(InetTable, AListenerIsNamedByAddressAndPort) {
  EXPECT_THAT(inet(row("0100007F:1435", "00000000:0000", "0A", "1523"), "tcp"),
              UnorderedElementsAre(Pair(1523, "tcp:127.0.0.1:5173")));
}

TEST(InetTable, AnAddressOfSixIsInBrackets) {
  const std::string any(32, '0');
  const std::string none = any + ":0000";
  EXPECT_THAT(inet(row(any + ":0050", none, "0A", "1") +
                       row("00000000000000000000000001000000:1F90", none, "0A", "2") +
                       row("0000000000000000FFFF00000100007F:0016", none, "0A", "3"),
                   "tcp"),
              UnorderedElementsAre(Pair(1, "tcp:[::]:80"), Pair(2, "tcp:[::1]:8080"),
                                   Pair(3, "tcp:[::ffff:127.0.0.1]:22")));
}

TEST(InetTable, AConnectionIsNoListener) {
  EXPECT_THAT(inet(row("0100007F:1435", "0100007F:9C40", "01", "5"), "tcp"), IsEmpty());
  EXPECT_THAT(inet(row("0100007F:1435", "00000000:0000", "07", "5"), "tcp"), IsEmpty());
}

TEST(InetTable, ADatagramSocketListensWhileItIsNotConnected) {
  EXPECT_THAT(inet(row("00000000:0035", "00000000:0000", "07", "1") +
                       row("0100007F:0035", "0100007F:9C40", "01", "2") +
                       row("0100007F:0035", "0100007F:9C40", "07", "3"),
                   "udp"),
              UnorderedElementsAre(Pair(1, "udp:0.0.0.0:53")));
}

TEST(InetTable, ASocketWithoutAnInodeBelongsToNobody) {
  EXPECT_THAT(inet(row("0100007F:1435", "00000000:0000", "0A", "0"), "tcp"), IsEmpty());
}

TEST(InetTable, LinesThatDoNotParseHideNoOthers) {
  const std::string none = "00000000:0000";
  EXPECT_THAT(
      inet("\n\n garbage \n" + row("0100007:1435", none, "0A", "1") +
               row("0100007Z:1435", none, "0A", "2") + row("0100007F:", none, "0A", "3") +
               row("0100007F:1FFFF", none, "0A", "4") + row("0100007F1435", none, "0A", "5") +
               row("0100007F:1435", "rest", "0A", "6") + row("0100007F:1435", none, "0A", "x7") +
               "   9: 0100007F:1435 " + none + row("0100007F:1436", none, "0A", "8"),
           "tcp"),
      IsEmpty());  // the last two share a line: a torn read
  EXPECT_THAT(inet("garbage\n" + row("0100007F:1436", none, "0A", "8"), "tcp"),
              UnorderedElementsAre(Pair(8, "tcp:127.0.0.1:5174")));
  EXPECT_THAT(inet("", "tcp"), IsEmpty());
}

TEST(UnixTable, AListenerIsNamedByItsPathOrAbstractName) {
  EXPECT_THAT(local("000000005cce3d5c: 00000002 00000000 00010000 0001 01  1520 /run/x\n"
                    "000000005cce3d5d: 00000002 00000000 00010000 0005 01 31520 @abstract\n"),
              UnorderedElementsAre(Pair(1520, "unix:/run/x"), Pair(31520, "unix:@abstract")));
}

TEST(UnixTable, WhatDoesNotAcceptIsNoListener) {
  EXPECT_THAT(local("000000005cce3d5c: 00000003 00000000 00000000 0001 03  1520\n"
                    "000000005cce3d5c: 00000002 00000000 00000000 0002 01  1521 /dev/log\n"),
              IsEmpty());
}

TEST(UnixTable, APathOfAnyBytesIsEscapedAndKeepsItsSpaces) {
  EXPECT_THAT(local("000000005cce3d5c: 00000002 00000000 00010000 0001 01 7  a b \xff\x1b\\\n"),
              UnorderedElementsAre(Pair(7, "unix: a b \\xff\\x1b\\x5c")));
}

TEST(UnixTable, LinesThatDoNotParseArePassedOver) {
  EXPECT_THAT(local("\n :\n0: 1 2 zz 4 5 6 /a\n0: 1 2 00010000 4 5 six /b\n"
                    "0: 1 2 00010000 4 5 6\n0: 1 2 00010000 4 5 6 \n0: 1 2 00010000 4 5 0 /c\n"),
              IsEmpty());
}

TEST(Sockets, TheCallersOwnListenerIsFound) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), generic, size), 0);
  EXPECT_THAT(Sockets().listening(getpid()), IsEmpty()) << "bound, but does not listen yet";
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), generic, &size), 0);
  EXPECT_THAT(Sockets().listening(getpid()),
              testing::ElementsAre("tcp:127.0.0.1:" + std::to_string(ntohs(address.sin_port))));
}

TEST(Sockets, AProcessThatIsNotThereListensOnNothing) {
  EXPECT_THAT(Sockets().listening(-1), IsEmpty());
}

}  // namespace
}  // namespace corral::cgroup
