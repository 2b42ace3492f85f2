#include "cli/private_sshd.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/unique_fd.h"
#include "harness/eventually.h"

namespace corral::cli {
namespace {

// UsePAM no: sessions stay in the cgroup that they are started in (pam_systemd(8)).
constexpr const char* kServer = R"(ListenAddress 127.0.0.1:{1}
HostKey {0}/host
AuthorizedKeysFile {0}/user.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
PrintMotd no
PrintLastLog no
)";

constexpr const char* kClient = R"(Host there
HostName 127.0.0.1
Port {1}
User root
IdentityFile {0}/user
IdentitiesOnly yes
IdentityAgent none
UserKnownHostsFile {0}/known
GlobalKnownHostsFile /dev/null
StrictHostKeyChecking yes
HostKeyAlias there
)";

// sshd wants its directory in /run; what it writes to lastlog and wtmp(5) is not the machine's
// either.
constexpr const char* kAlone =
    "mount -t tmpfs none /run && mkdir /run/sshd && mount -t tmpfs none /var/log && "
    ": >/var/log/lastlog && exec \"$@\"";

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// One that was free a moment ago: sshd takes no socket that is open already.
uint16_t free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  auto* address = reinterpret_cast<sockaddr*>(&name);
  if (bind(socket.get(), address, length) != 0 || getsockname(socket.get(), address, &length) != 0)
    throw std::runtime_error("no port is free");
  return ntohs(name.sin_port);
}

}  // namespace

PrivateSshd::PrivateSshd(int group) {
  make_keys();
  for (int attempt = 0; attempt < 10; ++attempt)
    if (listen_on(free_port(), group)) return;
  throw std::runtime_error("sshd does not start: " + log());
}

std::string PrivateSshd::log() const {
  return slurp(temp_ / "log");
}

void PrivateSshd::make_keys() const {
  for (const char* key : {"host", "user"}) {
    harness::Child child(
        {.argv = {"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", temp_ / key}});
    if (child.wait(harness::kDeadline) != 0) throw std::runtime_error("ssh-keygen fails");
  }
  std::ofstream(temp_ / "known") << "there " << slurp(temp_ / "host.pub");
}

bool PrivateSshd::listen_on(uint16_t port, int group) {
  std::ofstream(temp_ / "server") << fmt::format(kServer, temp_.path(), port);
  std::ofstream(temp_ / "client") << fmt::format(kClient, temp_.path(), port);
  child_.emplace(harness::Command{.argv = {"unshare", "-m", "/bin/sh", "-c", kAlone, "sh",
                                           "/usr/sbin/sshd", "-D", "-e", "-f", temp_ / "server"},
                                  .log = temp_ / "log",
                                  .group = group});
  const std::string word = fmt::format("Server listening on 127.0.0.1 port {}.", port);
  return harness::eventually(
             [&] { return child_->pidfd().exited() || log().find(word) != std::string::npos; }) &&
         !child_->pidfd().exited();
}

}  // namespace corral::cli
