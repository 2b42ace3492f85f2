#include "dbus/errors.h"

#include <array>
#include <utility>

namespace corral::dbus {
namespace {

using run::FaultKind;

constexpr std::array<std::pair<FaultKind, const char*>, 17> kNames = {{
    {FaultKind::no_such_run, "org.corral.Corral1.Error.NoSuchRun"},
    {FaultKind::run_exists, "org.corral.Corral1.Error.RunExists"},
    {FaultKind::no_run_for_pid, "org.corral.Corral1.Error.NoRunForPID"},
    {FaultKind::invocation_mismatch, "org.corral.Corral1.Error.InvocationMismatch"},
    {FaultKind::not_owner, "org.corral.Corral1.Error.NotOwner"},
    {FaultKind::would_kill_caller, "org.corral.Corral1.Error.WouldKillCaller"},
    {FaultKind::run_busy, "org.corral.Corral1.Error.RunBusy"},
    {FaultKind::start_failed, "org.corral.Corral1.Error.StartFailed"},
    {FaultKind::still_populated, "org.corral.Corral1.Error.StillPopulated"},
    {FaultKind::freeze_timeout, "org.corral.Corral1.Error.FreezeTimeout"},
    {FaultKind::observing, "org.corral.Corral1.Error.Observing"},
    {FaultKind::containment_unavailable, "org.corral.Corral1.Error.ContainmentUnavailable"},
    {FaultKind::limit_exceeded, "org.corral.Corral1.Error.LimitExceeded"},
    {FaultKind::invalid_args, "org.freedesktop.DBus.Error.InvalidArgs"},
    {FaultKind::access_denied, "org.freedesktop.DBus.Error.AccessDenied"},
    {FaultKind::not_supported, "org.freedesktop.DBus.Error.NotSupported"},
    {FaultKind::pid_unknown, "org.freedesktop.DBus.Error.UnixProcessIdUnknown"},
}};

}  // namespace

const char* error_name(FaultKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "org.freedesktop.DBus.Error.Failed";
}

std::optional<FaultKind> parse_error_name(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

}  // namespace corral::dbus
