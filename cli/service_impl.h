#pragma once

#include <sdbus-c++/sdbus-c++.h>

#include <memory>
#include <string>

#include "cli/call_options.h"
#include "cli/connection.h"
#include "cli/service.h"
#include "dbus/manager_proxy.h"
#include "dbus/run_proxy.h"

namespace corral::cli {

inline constexpr const char* kManagerInterface =
    org::corral::Corral1::Manager_proxy::INTERFACE_NAME;
inline constexpr const char* kRunInterface = org::corral::Corral1::Run_proxy::INTERFACE_NAME;
inline constexpr const char* kPropertiesInterface = "org.freedesktop.DBus.Properties";

inline constexpr microseconds kCallBound = std::chrono::seconds{25};  // as sd-bus has it
// Longer than the service's own bounds: an end lasts as long as the run's grace and the proof.
inline constexpr microseconds kEndBound = std::chrono::hours{24};

// The edge where exceptions of sdbus-c++ become values.
template <typename F>
auto at_edge(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const sdbus::Error& error) {
    return tl::unexpected<CallError>({error.getName(), error.getMessage()});
  }
}

json take_only(sdbus::MethodReply& reply);
// What StartRun and AdoptProcesses answer: object and invocation.
RunName take_started(sdbus::MethodReply& reply, const std::string& id);
inline void take_nothing(sdbus::MethodReply&) {}

// What Service's methods, in two files, are made of.
class Service::Impl {
 public:
  explicit Impl(std::unique_ptr<sdbus::IConnection> bus)
      : connection(std::move(bus)), manager(proxy(dbus::kManagerPath)) {}

  std::unique_ptr<sdbus::IProxy> proxy(const std::string& path) {
    return sdbus::createProxy(connection.bus(), dbus::kServiceName, path);
  }

  template <typename... Args>
  sdbus::MethodCall message(const char* member, const Args&... args) {
    sdbus::MethodCall call = manager->createMethodCall(kManagerInterface, member);
    (void)(call << ... << args);
    return call;
  }

  template <typename T, typename Take, typename... Args>
  Called<T> call(microseconds bound, Take take, const char* member, const Args&... args) {
    return connection.call<T>(*manager, message(member, args...), bound, take);
  }

  template <typename T = void, typename Take = void (*)(sdbus::MethodReply&), typename... Args>
  Called<T> call_run(Take take, const std::string& path, const char* member, const Args&... args) {
    const auto run = proxy(path);
    auto call = run->createMethodCall(kRunInterface, member);
    (void)(call << ... << args);
    return connection.call<T>(*run, call, kCallBound, take);
  }

  Called<json> properties(const std::string& path, const char* interface);
  // All rows, page by page.
  Called<json> pages(const char* member, const ProcessFilter& filter);

  Connection connection;
  std::unique_ptr<sdbus::IProxy> manager;
};

}  // namespace corral::cli
