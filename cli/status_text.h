#pragma once

#include <string>
#include <vector>

#include "cli/table.h"
#include "run/process.h"
#include "run/status.h"

namespace corral::cli {

// A run in the manner of systemctl(1) status, the process tree last. `now` is CLOCK_REALTIME in
// microseconds.
std::string status_text(const run::Status& status, const std::vector<run::Process>& processes,
                        uint64_t now, const Format& format);

// What is out of the ordinary with a live run: "kept", "frozen", "observe", "10s to its deadline".
std::vector<std::string> notes_of(const run::Status& status, uint64_t now);

Style style_of(run::State state, run::RunResult result);

}  // namespace corral::cli
