#pragma once

#include "cli/session.h"

namespace corral::cli {

// Each does what the command of its name says (docs/corralctl.md) and gives the exit status.
int run_detached(const Session& session);
int list_runs(const Session& session);
int show_status(const Session& session);
int list_processes(const Session& session);
int list_leaks(const Session& session);
int end_runs(const Session& session);
int wait_run(const Session& session);
int show_report(const Session& session);
int signal_run(const Session& session);
int forget_runs(const Session& session);
int show_configuration(const Session& session);

}  // namespace corral::cli
