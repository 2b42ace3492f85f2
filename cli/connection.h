#pragma once

#include <sdbus-c++/sdbus-c++.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/service.h"

namespace corral::cli {

// A connection to the bus and the loop that a call waits in. sdbus-c++ throws; the exceptions end
// in Service's methods.
class Service::Connection {
 public:
  explicit Connection(std::unique_ptr<sdbus::IConnection> bus) : bus_(std::move(bus)) {}

  sdbus::IConnection& bus() { return *bus_; }

  // Sends the call and serves everything until it is answered; `take` makes a T of the reply. For T
  // void, take is not called.
  template <typename T, typename Take>
  Called<T> call(sdbus::IProxy& proxy, const sdbus::MethodCall& message, microseconds bound,
                 Take take) {
    std::optional<Called<T>> result;
    Pending pending{proxy.callMethod(
        message,
        [&](sdbus::MethodReply& reply, const sdbus::Error* error) {
          result = taken<T>(reply, error, take);
        },
        static_cast<uint64_t>(bound.count()))};
    while (!result && !interrupted_) turn();
    if (!result) return tl::unexpected<CallError>({"", "the wait for an answer was cut short"});
    return std::move(*result);
  }

  // Serves everything until `stop` is true, which is looked at after each thing that happens.
  void serve_until(const bool& stop) {
    while (!stop) turn();
  }

  void watch(int fd, base::Callback<void()> ready);
  void every(std::chrono::milliseconds period, base::Callback<void()> tick);
  void interrupt() { interrupted_ = true; }

 private:
  // A call that nobody waits for any more: its handler refers to what has gone.
  struct Pending {
    sdbus::PendingAsyncCall call;
    ~Pending() { call.cancel(); }
  };
  struct Watch {
    int fd;
    base::Callback<void()> ready;
  };

  // Runs inside a handler of sdbus-c++, which no exception may leave.
  template <typename T, typename Take>
  static Called<T> taken(sdbus::MethodReply& reply, const sdbus::Error* error, Take& take) {
    if (error != nullptr && error->isValid())
      return tl::unexpected<CallError>({error->getName(), error->getMessage()});
    try {
      if constexpr (std::is_void_v<T>)
        return {};
      else
        return take(reply);
    } catch (const sdbus::Error& broken) {
      return tl::unexpected<CallError>({broken.getName(), broken.getMessage()});
    }
  }

  int poll_timeout(int bus_timeout) const;
  // Waits for one thing to happen and deals with it.
  void turn();

  std::unique_ptr<sdbus::IConnection> bus_;
  std::vector<Watch> watches_;
  std::chrono::milliseconds period_{};
  base::Callback<void()> tick_;
  std::chrono::steady_clock::time_point next_tick_;
  bool interrupted_ = false;
};

}  // namespace corral::cli
