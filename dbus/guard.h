#pragma once

#include <sdbus-c++/Error.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/log.h"

namespace corral::dbus {

inline constexpr const char* kErrorFailed = "org.freedesktop.DBus.Error.Failed";

// The exception in flight as an error that can go on the bus, whatever it is. A bug is logged.
inline sdbus::Error current_error(std::string_view what) {
  try {
    throw;
  } catch (const sdbus::Error& error) {
    if (base::is_utf8(error.getMessage())) return error;
    return {error.getName(), base::escape(error.getMessage())};
  } catch (const std::exception& error) {
    log(Level::error, "{}: {}", what, error.what());
    return {kErrorFailed, fmt::format("{}: internal error: {}", what, base::escape(error.what()))};
  } catch (...) {
    log(Level::error, "{}: unknown exception", what);
    return {kErrorFailed, fmt::format("{}: internal error", what)};
  }
}

// The fence round what sdbus-c++ calls: in version 1.2 an exception other than sdbus::Error that
// leaves a handler passes through sd-bus, which then answers EBUSY for ever.
template <typename F>
auto guarded(std::string_view what, F&& body) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    throw current_error(what);
  }
}

}  // namespace corral::dbus
