#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace corral::run {

// Why a request was refused or failed. Each is an error name on the bus (dbus/errors.h).
enum class FaultKind {
  no_such_run,
  run_exists,
  no_run_for_pid,
  invocation_mismatch,
  not_owner,
  would_kill_caller,
  run_busy,
  start_failed,
  still_populated,
  freeze_timeout,
  observing,
  containment_unavailable,
  limit_exceeded,
  invalid_args,
  access_denied,
  not_supported,
  pid_unknown,
};

// The message says action, object, errno and remedy: `busctl` shows nothing else.
struct Fault {
  FaultKind kind;
  std::string message;
};

// What a request is answered with.
template <typename T>
using Answer = tl::expected<T, Fault>;

inline tl::unexpected<Fault> fault(FaultKind kind, std::string message) {
  return tl::unexpected<Fault>(Fault{kind, std::move(message)});
}

}  // namespace corral::run
