#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/report_file.h"

namespace corral::cli {

// --report's file; nothing where none is asked for. To be had before anything is started, so that a
// name that cannot be written costs no run.
Result<std::optional<ReportFile>> open_report(const Arguments& arguments);

// Says on standard error what is worth it in the report of a run that is over (what is held, leaks,
// or what escaped or is stuck, or an exit that nobody saw; all with --verbose, nothing with
// --quiet), writes it to `file`, and gives the exit status: `driver`'s, that of --fail-on-leak, or
// one for a report that cannot be read. A file that cannot be written is told and changes no
// status.
int conclude(const Arguments& arguments, const Output& output,
             const std::optional<ReportFile>& file, const nlohmann::json& report, int driver);

}  // namespace corral::cli
