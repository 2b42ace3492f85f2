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
int show_tree(const Session& session);
int watch_runs(const Session& session);
int freeze_runs(const Session& session);
int thaw_runs(const Session& session);
int set_run(const Session& session);
int release_processes(const Session& session);
int adopt_processes(const Session& session);
int handle_enforcement(const Session& session);
// Ends this process by the signal that ended the command, or gives the exit status.
int lease_run(const Session& session);
int show_configuration(const Session& session);

}  // namespace corral::cli
