#include "dbus/authority.h"

#include <fmt/format.h>

namespace corral::dbus {
namespace {

using run::Fault;
using run::FaultKind;

std::string_view verb(Act act) {
  switch (act) {
    case Act::see:
      return "see command lines of";
    case Act::signal:
      return "act on";
    case Act::freeze:
      return "freeze";
    case Act::end:
      return "end";
  }
  return "use";
}

bool uid_may(const Request& request) {
  if (request.caller_uid == 0) return true;
  // On the system bus any local user can call: until authority is asked for by user, root acts
  // alone.
  if (request.system_bus && request.act != Act::see) return false;
  return request.caller_uid == request.owner_uid;
}

Fault denied(const Request& request) {
  const bool root_only = request.system_bus && request.act != Act::see;
  return {
      FaultKind::access_denied,
      fmt::format("uid {} may not {} run {} of uid {}: {}", request.caller_uid, verb(request.act),
                  request.run, request.owner_uid,
                  root_only ? "on the system bus only root may" : "call as that uid or as root")};
}

bool hits_all(Act act) {
  return act == Act::end || act == Act::freeze;
}

Fault would_kill(const Request& request) {
  if (request.act == Act::freeze)
    return {FaultKind::would_kill_caller,
            fmt::format("freezing run {} would freeze the caller, which is inside it; call from "
                        "outside",
                        request.run)};
  return {FaultKind::would_kill_caller,
          fmt::format("ending run {} would kill the caller, which is inside it; exit instead, set "
                      "AllowSelf, or end it from outside",
                      request.run)};
}

}  // namespace

std::optional<Fault> refuse(const Request& request) {
  if (!uid_may(request)) return denied(request);
  if (request.act == Act::see) return std::nullopt;
  switch (request.position) {
    case Position::outside:
    case Position::above:
      return std::nullopt;
    case Position::inside_nested:
      if (request.act == Act::end && request.allow_self) return std::nullopt;
      if (hits_all(request.act)) return would_kill(request);
      [[fallthrough]];
    case Position::inside_other:
      return Fault{
          FaultKind::not_owner,
          fmt::format("cannot {} run {} from inside another run: a process in a run may act "
                      "on nothing outside it",
                      verb(request.act), request.run)};
    case Position::inside_this:
      if (!hits_all(request.act) || request.allow_self) return std::nullopt;
      return would_kill(request);
    case Position::unknown:
      break;
  }
  return Fault{FaultKind::access_denied,
               fmt::format("cannot {} run {}: the caller's process is gone or cannot be read, so "
                           "whether it is inside a run is unknown; call again",
                           verb(request.act), request.run)};
}

}  // namespace corral::dbus
