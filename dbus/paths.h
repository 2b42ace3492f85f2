#pragma once

#include <string>

#include "run/status.h"

namespace corral::dbus {

// As run_path() of server.h, for an id and an invocation that were checked before.
std::string run_path(const std::string& id, const std::string& invocation);
// Of the run that it is nested in; "/" for none.
std::string parent_path(const run::Status& status);

}  // namespace corral::dbus
