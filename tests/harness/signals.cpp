#include "harness/signals.h"

#include <poll.h>
#include <sdbus-c++/sdbus-c++.h>

#include <algorithm>

#include "dbus/connect.h"
#include "dbus/manager_proxy.h"
#include "dbus/server.h"
#include "harness/must.h"

namespace corral::harness {
namespace {

using org::corral::Corral1::Manager_proxy;

class Recorder final : public sdbus::ProxyInterfaces<Manager_proxy> {
 public:
  explicit Recorder(sdbus::IConnection& bus)
      : ProxyInterfaces(bus, dbus::kServiceName, dbus::kManagerPath) {
    registerProxy();
  }
  ~Recorder() { unregisterProxy(); }

  std::vector<Signal> seen;

 private:
  using Text = const std::string&;
  using Path = const sdbus::ObjectPath&;
  void onRunStarted(Text id, Text invocation, Path run) override {
    seen.push_back({"RunStarted", id, invocation, run, "", "", 0});
  }
  void onDriverExited(Text id, Text invocation, Path run, Text exit,
                      const int32_t& status) override {
    seen.push_back({"DriverExited", id, invocation, run, exit, "", status});
  }
  void onLeaksFound(Text id, Text invocation, Path run, const uint32_t& count) override {
    seen.push_back({"LeaksFound", id, invocation, run, "", "", count});
  }
  void onRunEnded(Text id, Text invocation, Path run, Text result, Text reason) override {
    seen.push_back({"RunEnded", id, invocation, run, result, reason, 0});
  }
};

}  // namespace

class SignalRecorder::Impl {
 public:
  explicit Impl(const std::string& address)
      : bus(must(dbus::connect({dbus::BusKind::address, address}))), recorder(*bus) {}

  void read() {
    while (bus->processPendingRequest()) {
    }
  }
  // Until something may have come, or `most` is over.
  void wait(std::chrono::milliseconds most) {
    const auto data = bus->getEventLoopPollData();
    pollfd readable{data.fd, data.events, 0};
    (void)poll(&readable, 1, static_cast<int>(most.count()));  // the caller looks for itself
  }

  std::unique_ptr<sdbus::IConnection> bus;
  Recorder recorder;
};

SignalRecorder::SignalRecorder(const std::string& address)
    : impl_(std::make_unique<Impl>(address)) {}
SignalRecorder::~SignalRecorder() = default;

const std::vector<Signal>& SignalRecorder::seen() {
  impl_->read();
  return impl_->recorder.seen;
}

bool SignalRecorder::wait(const std::function<bool(const Signal&)>& wanted,
                          std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  for (;;) {
    const auto& all = seen();
    if (std::any_of(all.begin(), all.end(), wanted)) return true;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    impl_->wait(left);
  }
}

bool SignalRecorder::wait(const std::string& name, const std::string& id,
                          std::chrono::milliseconds deadline) {
  return wait([&](const Signal& signal) { return signal.name == name && signal.id == id; },
              deadline);
}

}  // namespace corral::harness
