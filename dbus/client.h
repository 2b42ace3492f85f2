#pragma once

#include <sdbus-c++/ProxyInterfaces.h>

#include "dbus/connect.h"
#include "dbus/errors.h"
#include "dbus/manager_proxy.h"
#include "dbus/run_proxy.h"

namespace corral::dbus {

// The manager as a caller sees it. Every method blocks and throws sdbus::Error; parse_error_name()
// knows the names. Hears no signals.
class ManagerProxy final : public sdbus::ProxyInterfaces<org::corral::Corral1::Manager_proxy> {
 public:
  explicit ManagerProxy(sdbus::IConnection& connection)
      : ProxyInterfaces(connection, kServiceName, kManagerPath) {}

 private:
  void onRunStarted(const std::string&, const std::string&, const sdbus::ObjectPath&) override {}
  void onDriverExited(const std::string&, const std::string&, const sdbus::ObjectPath&,
                      const std::string&, const int32_t&) override {}
  void onLeaksFound(const std::string&, const std::string&, const sdbus::ObjectPath&,
                    const uint32_t&) override {}
  void onRunEnded(const std::string&, const std::string&, const sdbus::ObjectPath&,
                  const std::string&, const std::string&) override {}
};

// A run's object, as above.
class RunProxy final : public sdbus::ProxyInterfaces<org::corral::Corral1::Run_proxy> {
 public:
  RunProxy(sdbus::IConnection& connection, std::string path)
      : ProxyInterfaces(connection, kServiceName, std::move(path)) {}
};

}  // namespace corral::dbus
