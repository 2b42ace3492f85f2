#include "cgroup/sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
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

// 0 where we may not look, or there is nothing to look at any more.
uint64_t network_namespace(pid_t pid) {
  struct stat status {};
  if (stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &status) < 0) return 0;
  return status.st_ino;
}

// "socket:[1234]" → 1234.
std::optional<uint64_t> socket_inode(std::string_view target) {
  constexpr std::string_view kHead = "socket:[";
  if (!target.starts_with(kHead) || !target.ends_with(']')) return std::nullopt;
  return base::number<uint64_t>(target.substr(kHead.size(), target.size() - kHead.size() - 1));
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
  const uint64_t id = network_namespace(pid);
  if (id == 0) return kNone;
  const auto known = by_namespace_.find(id);
  if (known != by_namespace_.end()) return known->second;
  SocketNames names = read_names(pid);
  // The tables of one that died meanwhile are torn: they must not stand for the whole namespace.
  if (network_namespace(pid) != id) return kNone;
  return by_namespace_.emplace(id, std::move(names)).first->second;
}

std::vector<std::string> Sockets::listening(pid_t pid) {
  std::vector<std::string> found;
  const SocketNames& names = names_of(pid);
  if (names.empty()) return found;
  struct Close {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> fds(opendir(fmt::format("/proc/{}/fd", pid).c_str()));
  if (!fds) return found;

  size_t left = std::min(kFdsOfOne, fds_left_);
  fds_left_ -= left;
  while (const dirent* entry = left > 0 ? readdir(fds.get()) : nullptr) {
    --left;
    char target[64];  // longer ones are no sockets
    const ssize_t n = readlinkat(dirfd(fds.get()), entry->d_name, target, sizeof target);
    if (n < 0) continue;  // closed meanwhile, or "." and ".."
    const auto inode = socket_inode({target, static_cast<size_t>(n)});
    const auto name = inode ? names.find(*inode) : names.end();
    if (name != names.end()) found.push_back(name->second);
  }
  fds_left_ += left;
  sort_and_cut(found);
  return found;
}

}  // namespace corral::cgroup
