#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/decode.h"
#include "cli/human.h"
#include "cli/printable.h"
#include "cli/report_text.h"
#include "cli/status_text.h"
#include "cli/tree.h"
#include "run/words.h"

namespace corral::cli {
namespace {

std::string footer(size_t count, const char* one, const char* many) {
  return fmt::format("{}{} listed.\n", count == 0 ? "" : "\n", count_text(count, one, many));
}

std::string age_text(const run::Report& report, uint64_t now) {
  const uint64_t start = report.start.realtime_usec;
  return start == 0 || start > now ? "" : span_text(microseconds{now - start});
}

std::string listening_text(const run::Process& process) {
  return fmt::format("{}", fmt::join(process.listening, " "));
}

std::string memory_text(const run::Process& process) {
  return process.rss ? bytes_text(*process.rss) : "";
}

std::string span(const std::optional<uint64_t>& usec) {
  return usec ? span_text(microseconds{*usec}) : "";
}

std::string process_table(const std::vector<run::Process>& rows, const Format& format,
                          bool legend) {
  Table table({{"RUN", false, true},
               {"PID", true, false},
               {"STATE"},
               {"AGE", true, false},
               {"CPU", true, false},
               {"MEMORY", true, false},
               {"DETACHED"},
               {"LISTENING", false, true},
               {"COMMAND"}});
  for (const run::Process& process : rows) {
    table.add({{process.run},
               {std::to_string(process.pid)},
               {process.state},
               {span(process.age_usec)},
               {span(process.cpu_usec)},
               {memory_text(process)},
               {std::string(run::word(process.detached))},
               {listening_text(process)},
               {title_of(process)}});
  }
  return table.text(format, legend) + (legend ? footer(rows.size(), "process", "processes") : "");
}

std::string leak_table(const std::vector<run::Process>& rows, const Format& format, bool legend) {
  Table table({{"RUN", false, true},
               {"PID", true, false},
               {"AGE", true, false},
               {"MEMORY", true, false},
               {"DETACHED"},
               {"LISTENING", false, true},
               {"OUTCOME"},
               {"COMMAND"}});
  for (const run::Process& leak : rows) {
    table.add({{leak.run},
               {std::to_string(leak.pid)},
               {span(leak.age_usec)},
               {memory_text(leak)},
               {std::string(run::word(leak.detached))},
               {listening_text(leak)},
               {std::string(run::word(leak.outcome))},
               {title_of(leak)}});
  }
  return table.text(format, legend) + (legend ? footer(rows.size(), "leak", "leaks") : "");
}

using Load = Called<json> (Service::*)(const ProcessFilter&);
using Show = std::string (*)(const std::vector<run::Process>&, const Format&, bool);

// The rows of every run that was named, or of all.
int show_rows(const Session& session, Load load, Show show) {
  const Arguments& arguments = session.arguments;
  std::vector<std::optional<std::string>> runs(arguments.names.begin(), arguments.names.end());
  if (runs.empty()) runs.emplace_back();
  json all = json::array();
  int status = 0;
  for (const auto& run : runs) {
    ProcessFilter filter = arguments.processes;
    filter.run = run;
    const auto rows = (session.service.*load)(filter);
    if (rows)
      all.insert(all.end(), rows->begin(), rows->end());
    else
      status = fail(arguments, run.value_or(""), rows.error());
  }
  // Where nothing could be asked there is no table to show.
  if (status != 0 && all.empty()) return status;
  if (arguments.json) return std::max(print_json(arguments, all), status);
  const auto rows = process_rows(all);
  if (!rows) return fail(arguments, "", rows.error());
  return std::max(print(arguments, show(*rows, session.output.out, arguments.legend)), status);
}

// A row says less of a live run than its object does.
Result<run::Status> status_of_row(Service& service, const json& row) {
  auto listed = listed_status_of(row);
  if (!listed || listed->report.state == run::State::ended) return listed;
  const auto properties = service.properties(row.value("Path", ""));
  return properties ? status_of(*properties) : listed;  // or it has gone meanwhile
}

}  // namespace

std::string run_table(const std::vector<run::Status>& runs, const Format& format, bool legend,
                      uint64_t now) {
  Table table({{"ID"},
               {"INVOCATION", false, true},
               {"STATE"},
               {"RESULT"},
               {"LEAKS", true, false},
               {"STARTED", true, false},
               {"OWNER", false, true},
               {"DRIVER", true, false},
               {"NOTES", false, true},
               {"DESCRIPTION"}});
  for (const run::Status& status : runs) {
    const run::Report& report = status.report;
    const std::string age = age_text(report, now);
    table.add({{report.id},
               {report.invocation},
               {std::string(run::word(report.state)), style_of(report.state, report.result)},
               {std::string(run::word(report.result))},
               {std::to_string(report.leaks_found)},
               {age.empty() ? "" : age + " ago"},
               {report.owner},
               {status.driver_pid == 0 ? "" : std::to_string(status.driver_pid)},
               {fmt::format("{}", fmt::join(notes_of(status, now), ", "))},
               {status.description}});
  }
  return table.text(format, legend) + (legend ? footer(runs.size(), "run", "runs") : "");
}

int list_runs(const Session& session) {
  const Arguments& arguments = session.arguments;
  const auto runs = session.service.list_runs(arguments.runs);
  if (!runs) return fail(arguments, "", runs.error());
  if (arguments.json) return print_json(arguments, *runs);
  std::vector<run::Status> statuses;
  for (const json& run : *runs) {
    auto status = status_of_row(session.service, run);
    if (!status) return fail(arguments, "", status.error());
    statuses.push_back(std::move(*status));
  }
  return print(arguments, run_table(statuses, session.output.out, arguments.legend,
                                    base::Moment::now().realtime_usec));
}

int list_processes(const Session& session) {
  return show_rows(session, &Service::list_processes, process_table);
}

int list_leaks(const Session& session) {
  return show_rows(session, &Service::list_leaks, leak_table);
}

}  // namespace corral::cli
