#pragma once

#include <sdbus-c++/IProxy.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/callback.h"
#include "base/unique_fd.h"
#include "dbus/calls.h"
#include "dbus/options.h"

namespace corral::dbus {

// Who the senders are: asks the bus daemon once for each unique name (GetConnectionCredentials of
// the D-Bus specification), without blocking, and remembers kRemembered of them. Unique names are
// never used twice, so what is remembered stays true.
class Callers {
 public:
  static constexpr size_t kRemembered = 256;  // each holds a pidfd
  static constexpr size_t kWaiting = 1024;    // calls of one sender while it is asked about

  // nullptr: the bus daemon would not say, or kWaiting was reached. The Caller is borrowed for the
  // call; its pidfd was opened when the daemon named the pid.
  using Ready = base::Callback<void(const Caller*)>;

  explicit Callers(sdbus::IConnection& connection);

  // Calls `ready`, which must not throw: at once for a sender that is known, else when the answer
  // is there. Calls for one sender keep their order.
  void identify(const std::string& sender, Ready ready);

 private:
  struct Known {
    Caller caller;
    UniqueFd pidfd;
    uint64_t last_used = 0;
  };
  void ask(const std::string& sender);
  void answered(const std::string& sender, const Dict* credentials);
  void forget_exited();
  const Caller& remember(const std::string& sender, uint32_t uid, uint32_t pid);

  std::unique_ptr<sdbus::IProxy> bus_daemon_;
  std::map<std::string, Known> known_;
  std::map<std::string, std::vector<Ready>> waiting_;
  uint64_t clock_ = 0;
};

}  // namespace corral::dbus
