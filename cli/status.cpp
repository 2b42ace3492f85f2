#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/parse.h"
#include "cli/commands.h"
#include "cli/decode.h"
#include "cli/exit_status.h"
#include "cli/status_text.h"
#include "dbus/errors.h"
#include "dbus/server.h"
#include "run/id.h"

namespace corral::cli {
namespace {

bool is_no_such_run(const CallError& error) {
  return dbus::parse_error_name(error.name) == run::FaultKind::no_such_run;
}

// The runs that listen on a port.
Called<std::vector<RunName>> runs_of_port(Service& service, uint16_t port) {
  ProcessFilter filter;
  filter.port = port;
  const auto rows = service.list_processes(filter);
  if (!rows) return tl::unexpected<CallError>(rows.error());
  std::vector<RunName> runs;
  std::set<std::string> seen;
  for (const json& row : *rows) {
    const auto id = run::RunId::parse(row.value("Run", ""));
    const auto invocation = run::Invocation::parse(row.value("Invocation", ""));
    if (!id || !invocation || !seen.insert(invocation->text()).second) continue;
    runs.push_back({id->text(), invocation->text(), dbus::run_path(*id, *invocation)});
  }
  if (runs.empty())
    return tl::unexpected<CallError>({dbus::error_name(run::FaultKind::no_such_run),
                                      "no process of a live run that you may see listens there"});
  return runs;
}

Called<std::vector<RunName>> as_list(Called<RunName> run) {
  if (!run) return tl::unexpected<CallError>(run.error());
  return std::vector<RunName>{std::move(*run)};
}

// An id goes first: it may look like a number or a port.
Called<std::vector<RunName>> find_runs(Service& service, const std::string& name) {
  auto by_id = service.get_run(name);
  if (by_id || !is_no_such_run(by_id.error())) return as_list(std::move(by_id));
  const bool colon = name.starts_with(':');
  if (const auto port = base::number<uint16_t>(std::string_view(name).substr(colon ? 1 : 0));
      colon && port)
    return runs_of_port(service, *port);
  if (const auto pid = base::number<uint32_t>(name); pid && *pid != 0)
    return as_list(service.get_run_by_pid(*pid));
  return as_list(std::move(by_id));
}

struct Shown {
  json object;
  std::string text;
  bool ended = false;
};

// A run's properties with its processes under "Processes". The command lines are the owner's and
// root's alone: for others that key is absent.
Called<json> load(Service& service, const RunName& run) {
  auto properties = service.properties(run.path);
  if (!properties) return properties;
  if (properties->value("State", "") == "ended") return properties;
  ProcessFilter filter;
  filter.run = run.id;
  filter.invocation = run.invocation;
  if (auto rows = service.list_processes(filter)) (*properties)["Processes"] = std::move(*rows);
  return properties;
}

Result<Shown> show(json object, const Format& format) {
  const auto status = status_of(object);
  if (!status) return status.error();
  const auto processes = process_rows(object.value("Processes", json::array()));
  if (!processes) return processes.error();
  Shown shown{std::move(object), "", status->report.state == run::State::ended};
  shown.text = status_text(*status, *processes, base::Moment::now().realtime_usec, format);
  return shown;
}

}  // namespace

int show_status(const Session& session) {
  const Arguments& arguments = session.arguments;
  int status = kSuccess;
  json objects = json::array();
  std::string text;
  for (const std::string& name : arguments.names) {
    const auto runs = find_runs(session.service, name);
    if (!runs) {
      status = std::max(status, fail(arguments, name, runs.error()));
      continue;
    }
    for (const RunName& run : *runs) {
      auto object = load(session.service, run);
      if (!object) return fail(arguments, name, object.error());
      auto shown = show(std::move(*object), session.output.out);
      if (!shown) return fail(arguments, name, shown.error());
      text += (text.empty() ? "" : "\n") + shown->text;
      objects.push_back(std::move(shown->object));
      if (shown->ended) status = std::max<int>(status, kNotRunning);
    }
  }
  if (objects.empty()) return status;
  const int printed = arguments.json ? print_json(arguments, objects) : print(arguments, text);
  return printed == kSuccess ? status : printed;
}

}  // namespace corral::cli
