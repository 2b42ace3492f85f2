#pragma once

#include <string>

namespace corral::dbus {

// As run_path() of server.h, for an id and an invocation that were checked before.
std::string run_path(const std::string& id, const std::string& invocation);

}  // namespace corral::dbus
