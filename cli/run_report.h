#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/unique_fd.h"
#include "cli/arguments.h"
#include "cli/output.h"

namespace corral::cli {

// Opens --report's file; no fd where none is asked for. To be done before anything is started, so
// that a name that cannot be written costs no run.
Result<UniqueFd> open_report(const Arguments& arguments);

// Says on standard error what is worth it in the report of a run that is over (what is held, leaks,
// or what escaped or is stuck, or an exit that nobody saw; all with --verbose, nothing with
// --quiet), writes it to `file`, and gives the exit status: `driver`'s, that of --fail-on-leak, or
// one for a failure of our own.
int conclude(const Arguments& arguments, const Output& output, int file,
             const nlohmann::json& report, int driver);
// The file alone.
int write_report(const Arguments& arguments, int file, const nlohmann::json& report);

}  // namespace corral::cli
