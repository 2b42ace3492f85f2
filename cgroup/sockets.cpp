#include "cgroup/sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/escape.h"
#include "base/file.h"
#include "base/parse.h"

namespace corral::cgroup {
namespace {

constexpr uint32_t kAcceptsConnections = 0x10000;  // __SO_ACCEPTCON of linux/net.h, not in libc
constexpr size_t kTableBytes = size_t{16} << 20;

struct Endpoint {
  std::string address;
  uint16_t port = 0;
};

// "0100007F:1435": the address in 32-bit words of host order as they lie in memory, and the port.
std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const auto colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < colon / 8; ++i) {
    const auto word = base::number<uint32_t>(text.substr(i * 8, 8), 16);
    if (!word) return std::nullopt;
    words[i] = *word;
  }
  const auto port = base::number<uint16_t>(text.substr(colon + 1), 16);
  char address[INET6_ADDRSTRLEN];
  const bool v6 = colon == 32;
  if (!port || !inet_ntop(v6 ? AF_INET6 : AF_INET, words.data(), address, sizeof address))
    return std::nullopt;
  return Endpoint{v6 ? fmt::format("[{}]", address) : address, *port};
}

bool is_listening(std::string_view protocol, std::string_view state, const Endpoint& remote) {
  if (protocol == "tcp") return state == "0A";
  return state == "07" && remote.port == 0;
}

// The next field of `line`, which loses it; "" at the end.
std::string_view next_field(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  return field;
}

// What of a table there is up to kTableBytes. One that cannot be read whole shows what it can: a
// name less, not a failure. For tcp it ends with the listeners, which the kernel puts first: a
// hundred thousand connections cost nothing.
std::string read_table(const std::string& path, bool listeners_only) {
  std::string text;
  const auto fd = base::open_at(AT_FDCWD, path, O_RDONLY);
  if (!fd) return text;
  char buffer[16384];
  while (text.size() < kTableBytes) {
    const ssize_t n = read(fd->get(), buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
    if (!listeners_only) continue;
    const auto last = text.rfind('\n', text.size() - 2);  // reads are of whole lines (seq_file)
    std::string_view line = std::string_view(text).substr(last == text.npos ? 0 : last + 1);
    for (int field = 0; field < 3; ++field) next_field(line);
    if (last != text.npos && next_field(line) != "0A") break;
  }
  return text;
}

SocketNames read_names(pid_t pid) {
  SocketNames names;
  const std::string net = fmt::format("/proc/{}/net/", pid);
  for (const char* table : {"tcp", "tcp6"}) parse_inet(read_table(net + table, true), "tcp", names);
  for (const char* table : {"udp", "udp6"})
    parse_inet(read_table(net + table, false), "udp", names);
  parse_unix(read_table(net + "unix", false), names);
  return names;
}

// "socket:[1234]" with the word "socket" → 1234; a namespace's link has the same form.
std::optional<uint64_t> inode_of(std::string_view target, std::string_view word) {
  if (!target.starts_with(word) || !target.ends_with(']')) return std::nullopt;
  target.remove_prefix(word.size());
  if (!target.starts_with(":[")) return std::nullopt;
  return base::number<uint64_t>(target.substr(2, target.size() - 3));
}

std::optional<uint64_t> link_inode(int dir, const char* path, std::string_view word) {
  char target[64];  // longer ones are none of these
  const ssize_t n = readlinkat(dir, path, target, sizeof target);
  if (n < 0) return std::nullopt;
  return inode_of({target, static_cast<size_t>(n)}, word);
}

// nullopt where we may not look, or there is nothing to look at any more.
std::optional<uint64_t> network_namespace(pid_t pid) {
  return link_inode(AT_FDCWD, fmt::format("/proc/{}/ns/net", pid).c_str(), "net");
}

// The inodes of the sockets among the first `fds_left` fds of a process, which it is lessened by.
std::vector<uint64_t> open_sockets(pid_t pid, size_t fds_most, size_t& fds_left) {
  std::vector<uint64_t> found;
  const auto directory =
      base::open_at(AT_FDCWD, fmt::format("/proc/{}/fd", pid), O_RDONLY | O_DIRECTORY);
  if (!directory) return found;
  alignas(dirent64) char entries[8192];  // no opendir(3): it costs more than three fds do
  size_t left = std::min(fds_most, fds_left);
  fds_left -= left;
  ssize_t size = 0;
  while (left > 0 && (size = getdents64(directory->get(), entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < size && left > 0; --left) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (entry->d_name[0] == '.') continue;
      if (const auto inode = link_inode(directory->get(), entry->d_name, "socket"))
        found.push_back(*inode);
    }
  }
  fds_left += left;
  return found;
}

void sort_and_cut(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  size_t bytes = 0;
  const auto end = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    bytes += name.size();
    return bytes > Sockets::kShownBytes;
  });
  names.erase(end, names.end());
}

}  // namespace

void parse_inet(std::string_view text, std::string_view protocol, SocketNames& names) {
  for (std::string_view line : base::split(text, '\n')) {
    const auto fields = base::split(line, ' ');
    if (fields.size() < 10) continue;
    const auto local = parse_endpoint(fields[1]);
    const auto remote = parse_endpoint(fields[2]);
    const auto inode = base::number<uint64_t>(fields[9]);
    if (!local || !remote || !inode || *inode == 0) continue;
    if (!is_listening(protocol, fields[3], *remote)) continue;
    names[*inode] = fmt::format("{}:{}:{}", protocol, local->address, local->port);
  }
}

void parse_unix(std::string_view text, SocketNames& names) {
  for (std::string_view line : base::split(text, '\n')) {
    std::array<std::string_view, 7> fields;  // Num RefCount Protocol Flags Type St Inode
    for (auto& field : fields) field = next_field(line);
    const auto flags = base::number<uint32_t>(fields[3], 16);
    const auto inode = base::number<uint64_t>(fields[6]);
    if (!flags || !(*flags & kAcceptsConnections) || !inode || *inode == 0) continue;
    if (line.size() < 2 || line[0] != ' ') continue;
    names[*inode] = "unix:" + base::escape(line.substr(1));  // the path may begin with spaces
  }
}

const SocketNames& Sockets::names_of(pid_t pid) {
  static const SocketNames kNone;
  const auto id = network_namespace(pid);
  if (!id) return kNone;
  const auto known = by_namespace_.find(*id);
  if (known != by_namespace_.end()) return known->second;
  SocketNames names = read_names(pid);
  // The tables of one that died meanwhile are torn: they must not stand for the whole namespace.
  if (network_namespace(pid) != id) return kNone;
  return by_namespace_.emplace(*id, std::move(names)).first->second;
}

std::vector<std::string> Sockets::listening(pid_t pid) {
  std::vector<std::string> found;
  // The fds come first: nearly every machine listens on something, most processes have no socket.
  const std::vector<uint64_t> inodes = open_sockets(pid, kFdsOfOne, fds_left_);
  if (inodes.empty()) return found;
  const SocketNames& names = names_of(pid);
  for (const uint64_t inode : inodes) {
    const auto name = names.find(inode);
    if (name != names.end()) found.push_back(name->second);
  }
  sort_and_cut(found);
  return found;
}

}  // namespace corral::cgroup
