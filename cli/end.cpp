#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/decode.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/report_text.h"
#include "dbus/errors.h"

namespace corral::cli {
namespace {

// Far below the 128 calls under way that a bus allows a connection.
constexpr size_t kEndsAtOnce = 64;

EndRequest end_request(const Session& session, const std::string& id) {
  const Arguments& arguments = session.arguments;
  return {{id, arguments.invocation},
          arguments.grace,
          arguments.reason,
          arguments.no_block,
          arguments.allow_self};
}

// Ends one run; its report is added to `reports` and its text printed.
int end_run(const Session& session, const std::string& id, json& reports) {
  const Arguments& arguments = session.arguments;
  std::string path;
  if (session.output.error_terminal)
    if (const auto run = session.service.get_run(id)) path = run->path;
  const auto report = [&] {
    const Progress progress(session.service, session.output, id, path);
    return session.service.end_run(end_request(session, id));
  }();
  if (!report) return fail(arguments, id, report.error());
  reports.push_back(*report);
  if (arguments.json) return kSuccess;
  const auto read = report_of(*report);
  if (!read) return fail(arguments, id, read.error());
  return print(arguments, report_text(*read, session.output.out, arguments.legend));
}

// The outcome of a row without what all error names begin with.
std::string_view short_outcome(std::string_view outcome) {
  const auto dot = outcome.rfind('.');
  return dot == std::string_view::npos ? outcome : outcome.substr(dot + 1);
}

int status_of_row(const std::string& outcome) {
  if (outcome == "ended" || outcome == "would-end") return kSuccess;
  const bool populated = dbus::parse_error_name(outcome) == run::FaultKind::still_populated;
  return populated ? kStillPopulated : kFailure;
}

// What became of the runs that were chosen.
int end_chosen(const Session& session) {
  const Arguments& arguments = session.arguments;
  const auto rows = session.service.end_runs(arguments.ends);
  if (!rows) return fail(arguments, "", rows.error());
  Table table({{"ID"},
               {"INVOCATION", false, true},
               {"STATE"},
               {"PROCESSES", true, false},
               {"OUTCOME"},
               {"MESSAGE"}});
  int status = kSuccess;
  for (const json& row : *rows) {
    const auto outcome = row.value("Outcome", "");
    const int failed = status_of_row(outcome);
    status = std::max(status, failed);
    table.add(
        {{row.value("Id", "")},
         {row.value("Invocation", "")},
         {row.value("State", "")},
         {std::to_string(row.value("Processes", uint64_t{0}))},
         {std::string(short_outcome(outcome)), failed == kSuccess ? Style::plain : Style::bad},
         {row.value("Message", "")}});
  }
  if (arguments.json) return std::max(status, print_json(arguments, *rows));
  std::string text = table.text(session.output.out, arguments.legend);
  if (arguments.legend)
    text += fmt::format("{}{} {}.\n", rows->empty() ? "" : "\n",
                        count_text(rows->size(), "run", "runs"),
                        arguments.ends.dry_run ? "would be ended" : "listed");
  return std::max(status, print(arguments, text));
}

}  // namespace

int end_runs(const Session& session) {
  const auto& names = session.arguments.names;
  if (names.empty()) return end_chosen(session);
  json reports = json::array();
  int status = kSuccess;
  for (size_t i = 0; i < names.size(); ++i) {
    // All of a batch end side by side: EndRun joins an end that is under way.
    if (i % kEndsAtOnce == 0)
      for (size_t j = i + 1; j < std::min(i + kEndsAtOnce, names.size()); ++j)
        session.service.post_end_run(end_request(session, names[j]));
    status = std::max(status, end_run(session, names[i], reports));
  }
  if (!session.arguments.json || reports.empty()) return status;
  return std::max(status, print_json(session.arguments, reports));
}

}  // namespace corral::cli
