#pragma once

#include <memory>

#include "base/result.h"
#include "dbus/server.h"

namespace sdbus {
class IConnection;
}

namespace corral::dbus {

// A connection to the bus, ready for use. Blocks until the bus has said hello. The error says which
// bus and what to do.
Result<std::unique_ptr<sdbus::IConnection>> connect(const BusAddress& bus);

// The errno that an sdbus::Error was made of, by its name; EIO for another.
int errno_of(const std::string& error_name);

}  // namespace corral::dbus
