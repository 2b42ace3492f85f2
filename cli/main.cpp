#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <exception>

#include "cli/arguments.h"
#include "cli/attached_run.h"
#include "cli/commands.h"
#include "cli/embedded_run.h"
#include "cli/exit_status.h"
#include "cli/output.h"
#include "cli/session.h"

namespace corral::cli {
namespace {

using Handler = int (*)(const Session&);

// In the order of Command.
constexpr std::array<Handler, 20> kHandlers = {
    run_detached,   adopt_processes, list_runs,         show_status,        show_tree,
    list_processes, list_leaks,      watch_runs,        show_configuration, end_runs,
    wait_run,       show_report,     signal_run,        forget_runs,        freeze_runs,
    thaw_runs,      set_run,         release_processes, lease_run,          handle_enforcement};
static_assert(kHandlers.size() == static_cast<size_t>(Command::enforcement) + 1);

int execute(const Arguments& arguments) {
  const Output output = Output::of_process();
  if (arguments.embedded) return run_embedded(arguments, output);
  if (arguments.attached()) return run_attached(arguments, output);
  auto service = Service::connect(arguments.bus);
  if (!service) return fail(arguments, "", service.error());
  const Session session{arguments, output, *service};
  return kHandlers.at(static_cast<size_t>(arguments.command))(session);
}

int run(const std::vector<std::string>& words) {
  const auto parsed = parse_arguments(words, Surroundings::of_process());
  if (const auto* leave = std::get_if<Leave>(&parsed)) {
    if (leave->status != kSuccess) {
      write_error(leave->text);
      return leave->status;
    }
    return write_out(leave->text) ? kSuccess : kFailure;
  }
  const auto& arguments = std::get<Arguments>(parsed);
  try {
    return execute(arguments);
  } catch (const std::exception& bug) {
    return fail(arguments, "", Error{fmt::format("internal error: {}", bug.what()), 0});
  }
}

// Whatever is opened from here on has a number above 2: nothing is taken for a standard stream that
// the caller had closed. Read-only, so that a write fails as it would have.
void take_standard_fds() {
  int fd = -1;
  do fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) (void)close(fd);
}

}  // namespace
}  // namespace corral::cli

int main(int argc, char** argv) {
  corral::cli::take_standard_fds();
  // For the width of characters alone: everything else is the same in every locale.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  try {
    return corral::cli::run({argv + 1, argv + argc});
  } catch (const std::exception& bug) {
    corral::cli::write_error(fmt::format("corralctl: internal error: {}\n", bug.what()));
    return corral::cli::kFailure;
  }
}
