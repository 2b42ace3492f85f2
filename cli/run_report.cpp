#include "cli/run_report.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/decode.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/report_text.h"
#include "cli/session.h"

namespace corral::cli {

Result<UniqueFd> open_report(const Arguments& arguments) {
  if (!arguments.report_file) return UniqueFd();
  return base::open_at(AT_FDCWD, *arguments.report_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
}

int write_report(const Arguments& arguments, int file, const json& report) {
  if (file < 0) return kSuccess;
  const std::string text = json_text(report, JsonStyle::pretty);
  const auto written = write_all(file, text, *arguments.report_file);
  return written ? kSuccess : fail(arguments, arguments.start.id, written.error());
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

int conclude(const Arguments& arguments, const Output& output, int file, const json& report,
             int driver) {
  const auto read = report_of(report);
  if (!read) return fail(arguments, arguments.start.id, read.error());
  const bool notable = read->leaks_found > 0 || read->escaped > 0 || read->stuck > 0 ||
                       read->driver_exit == run::DriverExit::unknown;
  if (!arguments.quiet && (notable || arguments.verbose))
    write_error(report_text(*read, output.error, arguments.legend));
  if (!arguments.quiet && read->state == run::State::holding) write_error(held_text(*read));
  if (const int status = write_report(arguments, file, report); status != kSuccess) return status;
  const bool fails = arguments.fail_on_leak && read->leaks_found > 0 && driver == kSuccess;
  return fails ? *arguments.fail_on_leak : driver;
}

}  // namespace corral::cli
