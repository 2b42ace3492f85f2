#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace corral::cgroup {

// Socket inode → "tcp:127.0.0.1:5173", "tcp:[::]:80", "udp:0.0.0.0:53", "unix:/run/x",
// "unix:@abstract" (escaped).
using SocketNames = std::unordered_map<uint64_t, std::string>;

// The listening ones of the text of /proc/PID/net/tcp or tcp6 (state 0A), udp or udp6 (unconnected
// and bound: state 07, remote port 0), and unix (__SO_ACCEPTCON): proc_pid_net(5). Lines that do
// not parse are passed over.
void parse_inet(std::string_view text, std::string_view protocol, SocketNames& names);
void parse_unix(std::string_view text, SocketNames& names);

// Finds what processes listen on. Keeps the tables of each network namespace it has met, so that
// ten thousand processes cost one read of them; make one for each snapshot.
class Sockets {
 public:
  // Sorted, each once; empty where /proc does not let us look.
  std::vector<std::string> listening(pid_t pid);

 private:
  const SocketNames& names_of(pid_t pid);
  std::map<uint64_t, SocketNames> by_namespace_;  // by the inode of /proc/PID/ns/net
};

}  // namespace corral::cgroup
