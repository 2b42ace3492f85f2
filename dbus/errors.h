#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "run/fault.h"

namespace corral::dbus {

// The D-Bus error name of a fault: org.corral.Corral1.Error.* for ours,
// org.freedesktop.DBus.Error.* where the standard has one.
const char* error_name(run::FaultKind kind);
// The way back, for clients; nullopt for a name that is none of ours.
std::optional<run::FaultKind> parse_error_name(std::string_view name);

}  // namespace corral::dbus
