#pragma once

#include <string>

#include "cli/table.h"
#include "run/report.h"

namespace corral::cli {

// "driver exited with 0 after 1.2s", "driver was killed by SIGTERM", "driver's exit was not seen
// (…)", "driver did not start: …"; "driver runs" as long as it does.
std::string driver_text(const run::Report& report);

// The report for people: what came of the driver, a row for each leak, and how it ended.
std::string report_text(const run::Report& report, const Format& format, bool legend = true);

}  // namespace corral::cli
