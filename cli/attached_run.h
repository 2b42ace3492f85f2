#pragma once

#include <optional>

#include "cli/arguments.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/report_file.h"

namespace corral::cli {

// How a command went as the driver of a run.
struct Attached {
  int status = kSuccess;      // to exit with
  std::optional<int> signal;  // to die by instead: what ended the driver
  bool reported = false;      // the run's report was had
};

// Runs the command as the driver of a run, in this process's own place, on the bus that `arguments`
// name, until nothing is left of the run or what is left is held; writes what is to be said of it.
Attached run_and_wait(const Arguments& arguments, const Output& output,
                      const std::optional<ReportFile>& report_file);
// Ends as the driver did: gives the exit status, or does not return.
int leave(const Attached& attached);

// `run` without --detach: the command as the driver of a run, in this process's own place. Gives
// the exit status, or ends this process by the signal that ended the driver.
int run_attached(const Arguments& arguments, const Output& output);

}  // namespace corral::cli
