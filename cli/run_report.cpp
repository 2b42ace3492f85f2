#include "cli/run_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/decode.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/report_text.h"
#include "cli/session.h"

namespace corral::cli {

Result<std::optional<ReportFile>> open_report(const Arguments& arguments) {
  if (!arguments.report_file) return std::optional<ReportFile>();
  auto file = ReportFile::open(*arguments.report_file);
  if (!file) return file.error();
  return std::optional(std::move(*file));
}

namespace {

// Of a run whose end left processes in place: what is to be done with them.
std::string held_text(const run::Report& report) {
  const uint64_t gone = report.terminated + report.killed + report.kept + report.escaped;
  const uint64_t held = report.leaks_found - std::min(report.leaks_found, gone);
  return fmt::format(
      "corralctl: {} of run {} {} held: look with \"corralctl status {}\", end with \"corralctl "
      "end "
      "{}\"\n",
      count_text(held, "process", "processes"), report.id, held == 1 ? "is" : "are", report.id,
      report.id);
}

}  // namespace

int conclude(const Arguments& arguments, const Output& output,
             const std::optional<ReportFile>& file, const json& report, int driver) {
  const auto read = report_of(report);
  if (!read) return fail(arguments, arguments.start.id, read.error());
  const bool notable = read->leaks_found > 0 || read->escaped > 0 || read->stuck > 0 ||
                       read->driver_exit == run::DriverExit::unknown;
  if (!arguments.quiet && (notable || arguments.verbose))
    write_error(report_text(*read, output.error, arguments.legend));
  if (!arguments.quiet && read->state == run::State::holding) write_error(held_text(*read));
  const auto written = file ? file->write(json_text(report, JsonStyle::pretty)) : Result<void>();
  // What the driver did is done, and its status is what the caller asked for.
  if (!written) (void)fail(arguments, arguments.start.id, written.error());
  const bool fails = arguments.fail_on_leak && read->leaks_found > 0 && driver == kSuccess;
  return fails ? *arguments.fail_on_leak : driver;
}

}  // namespace corral::cli
