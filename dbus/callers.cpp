#include "dbus/callers.h"

#include <poll.h>
#include <sdbus-c++/sdbus-c++.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "dbus/guard.h"

namespace corral::dbus {
namespace {

constexpr const char* kBusDaemon = "org.freedesktop.DBus";
constexpr const char* kBusDaemonPath = "/org/freedesktop/DBus";
// The daemon answers, or its end ends the call. A time-out would have us refuse the waiting calls
// from within sd-bus's own round of time-outs, where a connection that is lost meanwhile is an
// assertion that fails (systemd 252, dispatch_wqueue()).
constexpr uint64_t kNever = UINT64_MAX;

std::optional<uint32_t> number(const Dict& dict, const char* key) {
  const auto entry = dict.find(key);
  if (entry == dict.end() || !entry->second.containsValueOfType<uint32_t>()) return std::nullopt;
  return entry->second.get<uint32_t>();
}

}  // namespace

Callers::Callers(sdbus::IConnection& connection)
    : bus_daemon_(sdbus::createProxy(connection, kBusDaemon, kBusDaemonPath)) {}

void Callers::identify(const std::string& sender, Ready ready) {
  if (const auto queue = waiting_.find(sender); queue != waiting_.end()) {
    if (queue->second.size() >= kWaiting) return ready(nullptr);
    queue->second.push_back(std::move(ready));
    return;
  }
  if (const auto known = known_.find(sender); known != known_.end()) {
    known->second.last_used = ++clock_;
    return ready(&known->second.caller);
  }
  waiting_[sender].push_back(std::move(ready));
  ask(sender);
}

void Callers::ask(const std::string& sender) {
  try {
    bus_daemon_->callMethodAsync("GetConnectionCredentials")
        .onInterface(kBusDaemon)
        .withTimeout(kNever)
        .withArguments(sender)
        .uponReplyInvoke([this, sender](const sdbus::Error* error, Dict credentials) {
          if (error != nullptr) {
            log(Level::info, "GetConnectionCredentials of {}: {}", sender, error->getMessage());
          }
          answered(sender, error == nullptr ? &credentials : nullptr);
        });
  } catch (...) {
    log(Level::warning, "GetConnectionCredentials of {}: {}", sender,
        current_error("send").getMessage());
    answered(sender, nullptr);
  }
}

void Callers::answered(const std::string& sender, const Dict* credentials) {
  const Caller* caller = nullptr;
  if (credentials != nullptr) {
    const auto uid = number(*credentials, "UnixUserID");
    if (uid) caller = &remember(sender, *uid, number(*credentials, "ProcessID").value_or(0));
  }
  auto queue = waiting_.extract(sender);
  if (!queue) return;
  for (auto& ready : queue.mapped()) ready(caller);
}

// A process that has exited calls no more; its fd is not held for it.
void Callers::forget_exited() {
  std::vector<pollfd> pidfds;
  std::vector<const std::string*> senders;
  for (const auto& [sender, known] : known_) {
    pidfds.push_back({.fd = known.pidfd.get(), .events = POLLIN, .revents = 0});
    senders.push_back(&sender);
  }
  if (poll(pidfds.data(), pidfds.size(), 0) <= 0) return;
  for (size_t i = 0; i < pidfds.size(); ++i) {
    if (pidfds[i].revents != 0) known_.erase(std::string(*senders[i]));
  }
}

const Caller& Callers::remember(const std::string& sender, uint32_t uid, uint32_t pid) {
  forget_exited();
  if (known_.size() >= kRemembered) {
    known_.erase(std::ranges::min_element(
        known_, {}, [](const auto& entry) { return entry.second.last_used; }));
  }
  Known& known = known_[sender];
  known.last_used = ++clock_;
  known.caller = {.sender = sender, .uid = uid};
  if (pid == 0) return known.caller;
  known.pidfd = UniqueFd{static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0))};
  if (known.pidfd) {
    known.caller.pid = static_cast<pid_t>(pid);
    known.caller.pidfd = known.pidfd.get();
  } else if (errno != ESRCH) {
    log(Level::warning, "pidfd_open {}: {}", pid, strerror(errno));
  }
  return known.caller;
}

}  // namespace corral::dbus
