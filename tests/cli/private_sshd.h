#pragma once

#include <optional>
#include <string>

#include "harness/child.h"
#include "harness/temp_dir.h"

namespace corral::cli {

// An sshd of the test's own, on a port of the loopback interface: keys and configuration of its
// own, in a mount namespace with a /run and a /var/log of its own. Only root logs in, with the
// test's key.
class PrivateSshd {
 public:
  // Listens when it returns; throws with its log where it does not. `group` is a cgroup directory
  // to run in, borrowed; its sessions stay there.
  explicit PrivateSshd(int group);

  // Of ssh(1), for the host "there".
  std::string client_config() const { return temp_ / "client"; }
  std::string log() const;

 private:
  void make_keys() const;
  bool listen_on(uint16_t port, int group);

  harness::TempDir temp_;
  std::optional<harness::Child> child_;
};

}  // namespace corral::cli
