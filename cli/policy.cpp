#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_status.h"

namespace corral::cli {
namespace {

RunRef ref(const Session& session, const std::string& id) {
  return {id, session.arguments.invocation};
}

using Act = Called<void> (Service::*)(const RunRef&);

int act_on_each(const Session& session, Act act) {
  int status = kSuccess;
  for (const std::string& id : session.arguments.names) {
    const auto done = (session.service.*act)(ref(session, id));
    if (!done) status = std::max(status, fail(session.arguments, id, done.error()));
  }
  return status;
}

int print_name(const Arguments& arguments, const RunName& run) {
  if (arguments.json)
    return print_json(arguments,
                      {{"Id", run.id}, {"Invocation", run.invocation}, {"Path", run.path}});
  return print(arguments, run.id + " " + run.invocation + "\n");
}

// The properties that hold the word: the run's, or the manager's.
Called<json> enforcing(const Session& session) {
  if (session.arguments.names.empty()) return session.service.manager_properties();
  const auto run = session.service.get_run(session.arguments.names.front());
  if (!run) return tl::unexpected(run.error());
  return session.service.properties(run->path);
}

}  // namespace

int freeze_runs(const Session& session) {
  return act_on_each(session, &Service::freeze_run);
}

int thaw_runs(const Session& session) {
  return act_on_each(session, &Service::thaw_run);
}

int set_run(const Session& session) {
  const Arguments& arguments = session.arguments;
  const std::string& id = arguments.names.front();
  const auto set = session.service.set_run(ref(session, id), arguments.change);
  return set ? kSuccess : fail(arguments, id, set.error());
}

int release_processes(const Session& session) {
  const Arguments& arguments = session.arguments;
  const std::string& id = arguments.names.front();
  const auto run = session.service.get_run(id);
  if (!run) return fail(arguments, id, run.error());
  const auto kept = session.service.release(run->path, arguments.pids);
  return kept ? print_name(arguments, *kept) : fail(arguments, id, kept.error());
}

int adopt_processes(const Session& session) {
  const Arguments& arguments = session.arguments;
  const auto run = session.service.adopt(arguments.start, arguments.pids);
  return run ? print_name(arguments, *run) : fail(arguments, "", run.error());
}

int handle_enforcement(const Session& session) {
  const Arguments& arguments = session.arguments;
  const std::string id = arguments.names.empty() ? "" : arguments.names.front();
  if (arguments.enforcement) {
    SetRequest change;
    change.enforcement = arguments.enforcement;
    const auto set = id.empty() ? session.service.set_enforcement(*arguments.enforcement)
                                : session.service.set_run({id, std::nullopt}, change);
    return set ? kSuccess : fail(arguments, id, set.error());
  }
  const auto properties = enforcing(session);
  if (!properties) return fail(arguments, id, properties.error());
  const auto enforcement = properties->value("Enforcement", "");
  if (arguments.json) return print_json(arguments, {{"Enforcement", enforcement}});
  return print(arguments, enforcement + "\n");
}

}  // namespace corral::cli
