#include "dbus/connect.h"

#include <fmt/format.h>
#include <sdbus-c++/Error.h>
#include <sdbus-c++/IConnection.h>
#include <systemd/sd-bus.h>

#include <cerrno>

#ifdef __SANITIZE_ADDRESS__
// sdbus-c++ 1.2 leaks the sd_bus of a connection by address that fails: nothing of ours to free.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:sd_bus_new";
}
#endif

namespace corral::dbus {
namespace {

std::unique_ptr<sdbus::IConnection> open_bus(const BusAddress& bus) {
  switch (bus.kind) {
    case BusKind::system:
      return sdbus::createSystemBusConnection();
    case BusKind::user:
      return sdbus::createSessionBusConnection();
    case BusKind::address:
      break;
  }
  return sdbus::createSessionBusConnectionWithAddress(bus.address);
}

std::string name_of(const BusAddress& bus) {
  switch (bus.kind) {
    case BusKind::system:
      return "the system bus";
    case BusKind::user:
      return "the user bus";
    case BusKind::address:
      break;
  }
  return fmt::format("the bus at {}", bus.address);
}

const char* remedy(BusKind kind) {
  switch (kind) {
    case BusKind::system:
      return "start the message bus (dbus.service), or name another with --bus=ADDRESS";
    case BusKind::user:
      return "log in to a session with a message bus, set DBUS_SESSION_BUS_ADDRESS, or name "
             "another "
             "with --bus=ADDRESS";
    case BusKind::address:
      break;
  }
  return "check the address, and that its message bus runs";
}

}  // namespace

int errno_of(const std::string& error_name) {
  sd_bus_error error = SD_BUS_ERROR_NULL;
  error.name = error_name.c_str();
  const int code = sd_bus_error_get_errno(&error);
  return code > 0 ? code : EIO;
}

Result<std::unique_ptr<sdbus::IConnection>> connect(const BusAddress& bus) {
  try {
    return open_bus(bus);
  } catch (const sdbus::Error& error) {
    auto reason = failed(errno_of(error.getName()), "connect to " + name_of(bus));
    reason.message += std::string("; ") + remedy(bus.kind);
    return reason;
  }
}

BusAddress BusAddress::parse(const std::string& text) {
  if (text == "system") return {BusKind::system, ""};
  if (text == "user") return {BusKind::user, ""};
  return {BusKind::address, text};
}

}  // namespace corral::dbus
