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
//
// What a process opens cannot make a snapshot long: of each its first kFdsOfOne fds are looked at,
// kFdsOfAll together, then no more is found.
class Sockets {
 public:
  static constexpr size_t kShownBytes = 4096;  // of one process's names together
  static constexpr size_t kFdsOfOne = 16'384;
  static constexpr size_t kFdsOfAll = 262'144;

  // Sorted, each once, cut at kShownBytes; empty where /proc does not let us look. By a thread's id
  // where the group leader has exited (living_thread()).
  std::vector<std::string> listening(pid_t pid);

 private:
  const SocketNames& names_of(pid_t pid);
  std::map<uint64_t, SocketNames> by_namespace_;  // by the inode of /proc/PID/ns/net
  size_t fds_left_ = kFdsOfAll;
};

}  // namespace corral::cgroup
