#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/decode.h"
#include "cli/exit_status.h"
#include "cli/report_text.h"
#include "run/words.h"

namespace corral::cli {
namespace {

constexpr microseconds kPollTime = std::chrono::seconds{20};

RunRef ref(const Session& session, const std::string& id) {
  return {id, session.arguments.invocation};
}

bool has_come(const run::Report& report, const std::string& until) {
  if (report.state == run::State::ended) return true;
  if (until == "driver") return report.driver_exit != run::DriverExit::none;
  return until == "settled" && report.state == run::State::holding;
}

}  // namespace

int run_detached(const Session& session) {
  const Arguments& arguments = session.arguments;
  const auto run = session.service.start_run(arguments.start);
  if (!run) return fail(arguments, "", run.error());
  if (arguments.json)
    return print_json(arguments,
                      {{"Id", run->id}, {"Invocation", run->invocation}, {"Path", run->path}});
  return print(arguments, run->id + " " + run->invocation + "\n");
}

int wait_run(const Session& session) {
  const Arguments& arguments = session.arguments;
  const std::string& id = arguments.names.front();
  const std::string until = arguments.until.value_or("settled");
  RunRef run = ref(session, id);
  for (;;) {
    const auto answer = session.service.wait_run(run, until, kPollTime);
    if (!answer) return fail(arguments, id, answer.error());
    const auto status = status_of(*answer);
    if (!status) return fail(arguments, id, status.error());
    // The id may be started again between two polls; that is not the run that was waited for.
    run.invocation = status->report.invocation;
    if (!has_come(status->report, until)) continue;
    if (arguments.json)
      if (const int printed = print_json(arguments, *answer); printed != kSuccess) return printed;
    const int result = status_of_driver(status->report.driver_exit, status->report.driver_status);
    const bool seen = status->report.driver_exit != run::DriverExit::none &&
                      status->report.driver_exit != run::DriverExit::unknown;
    return seen ? result : fail(arguments, id, Error{driver_text(status->report), 0});
  }
}

int show_report(const Session& session) {
  const Arguments& arguments = session.arguments;
  const std::string& id = arguments.names.front();
  const auto report = session.service.get_report(ref(session, id));
  if (!report) return fail(arguments, id, report.error());
  if (arguments.json) return print_json(arguments, *report);
  const auto read = report_of(*report);
  if (!read) return fail(arguments, id, read.error());
  return print(arguments, report_text(*read, session.output.out, arguments.legend));
}

int signal_run(const Session& session) {
  const Arguments& arguments = session.arguments;
  const std::string& id = arguments.names.front();
  const auto sent = session.service.signal_run(ref(session, id), arguments.whom, arguments.signal);
  return sent ? kSuccess : fail(arguments, id, sent.error());
}

int forget_runs(const Session& session) {
  int status = kSuccess;
  for (const std::string& id : session.arguments.names) {
    const auto forgotten = session.service.forget_run(ref(session, id));
    if (!forgotten) status = std::max(status, fail(session.arguments, id, forgotten.error()));
  }
  return status;
}

}  // namespace corral::cli
