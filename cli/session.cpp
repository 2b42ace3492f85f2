#include "cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/exit_status.h"
#include "cli/printable.h"
#include "dbus/errors.h"

namespace corral::cli {
namespace {

std::string bus_text(const Arguments& arguments) {
  const dbus::BusAddress& bus = arguments.bus;
  if (arguments.embedded) return "its private bus";
  switch (bus.kind) {
    case dbus::BusKind::system:
      return "the system's bus";
    case dbus::BusKind::user:
      return "the user's bus";
    case dbus::BusKind::address:
      return "the bus at " + bus.address;
  }
  return "the bus";
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What the service says of an option of its own ("OpenRun: Owner has 300 bytes, …"), of ours.
std::string in_our_words(std::string message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kOptions = {
      {{"SettleUSec", "--settle"},
       {"GraceUSec", "--grace"},
       {"RuntimeMaxUSec", "--max-time"},
       {"HoldMaxUSec", "--hold-max"},
       {"OlderThanUSec", "--older-than"},
       {"OnDriverExit", "--on-driver-exit"},
       {"Keep", "--keep"},
       {"Parent", "--parent"},
       {"Enforcement", "--enforcement"},
       {"Reason", "--reason"},
       {"who has", "--who has"},
       {"why has", "--why has"},
       {"TermSignal", "--term-signal"},
       {"WorkingDirectory", "--working-directory"},
       {"Description", "--description"},
       {"Owner", "--owner"},
       {"Token", "--token"},
       {"Labels", "--label"},
       {"Label", "--label"}}};
  for (const std::string_view method :
       {"OpenRun: ", "StartRun: ", "AdoptProcesses: ", "EndRun: ", "EndRuns: ", "SetRun: ",
        "AcquireLease: ", "ListRuns: ", "ListProcesses: ", "ListLeaks: "}) {
    if (!message.starts_with(method)) continue;
    message.erase(0, method.size());
    constexpr std::string_view kOther = ", and OnDriverExit ";  // two that contradict each other
    if (const size_t at = message.find(kOther); at != std::string::npos)
      message.replace(at, kOther.size(), ", and --on-driver-exit ");
    for (const auto& [theirs, ours] : kOptions)
      if (message.starts_with(theirs)) return std::string(ours) + message.substr(theirs.size());
  }
  return message;
}

// Errors of the bus itself say nothing about where we looked.
std::string explained(const Arguments& arguments, const CallError& error) {
  if (is_one_of(error.name, {"org.freedesktop.DBus.Error.ServiceUnknown",
                             "org.freedesktop.DBus.Error.NameHasNoOwner"}))
    return fmt::format(
        "no service on {}; start corrald there, name its bus with --bus, or use --embedded run",
        bus_text(arguments));
  if (is_one_of(error.name,
                {"org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut"}))
    return fmt::format("the service on {} does not answer", bus_text(arguments));
  if (is_one_of(error.name,
                {"org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected"}))
    return fmt::format("the service on {} went away before it answered", bus_text(arguments));
  if (error.message.empty()) return error.name;
  const auto kind = dbus::parse_error_name(error.name);
  const bool refused =
      kind == run::FaultKind::invalid_args || kind == run::FaultKind::limit_exceeded;
  return refused ? in_our_words(error.message) : error.message;
}

int status_of(Command command, const CallError& error) {
  const auto kind = dbus::parse_error_name(error.name);
  if (command == Command::status &&
      (kind == run::FaultKind::no_such_run || kind == run::FaultKind::no_run_for_pid ||
       kind == run::FaultKind::pid_unknown))
    return kNoSuchRun;
  if (kind == run::FaultKind::still_populated) return kStillPopulated;
  return own_failure(command);
}

int say(const Arguments& arguments, std::string_view object, std::string_view message, int status) {
  write_error(fmt::format("corralctl: {}{}{}: {}\n", word(arguments.command),
                          object.empty() ? "" : " ", printable(object), printable(message)));
  return status;
}

}  // namespace

int own_failure(Command command) {
  return passes_status_on(command) ? kOwnFailure : kFailure;
}

int fail(const Arguments& arguments, std::string_view object, const CallError& error) {
  return say(arguments, object, explained(arguments, error), status_of(arguments.command, error));
}

int fail(const Arguments& arguments, std::string_view object, const Error& error) {
  return say(arguments, object, error.message, own_failure(arguments.command));
}

int print(const Arguments& arguments, std::string_view text) {
  const auto written = write_out(text);
  return written ? kSuccess : fail(arguments, "", written.error());
}

int print_json(const Arguments& arguments, const json& value) {
  return print(arguments, json_text(value, arguments.json.value_or(JsonStyle::compact)));
}

std::string json_text(const json& value, JsonStyle style) {
  const int indent = style == JsonStyle::pretty ? 2 : -1;
  return value.dump(indent, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace corral::cli
