#include "cli/embedded_run.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "cli/attached_run.h"
#include "cli/embedded_host.h"
#include "cli/open_files.h"
#include "cli/run_report.h"
#include "cli/session.h"

namespace corral::cli {
namespace {

// From a lost connection to the exit of whoever was at its other end.
constexpr std::chrono::milliseconds kDeathBound{500};

// What the service is started with: not what a service manager said to us alone.
std::vector<std::string> service_environment() {
  auto environment = Surroundings::of_process().environment;
  for (const char* name : {"NOTIFY_SOCKET=", "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=",
                           "WATCHDOG_PID=", "WATCHDOG_USEC="})
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(name); });
  return environment;
}

// The same on the private bus, which the command gets to know.
Arguments inside(const Arguments& arguments, const std::string& address) {
  Arguments changed = arguments;
  changed.bus = {dbus::BusKind::address, address};
  changed.start.environment =
      with_settings(changed.start.environment, {"CORRAL_BUS_ADDRESS=" + address});
  return changed;
}

}  // namespace

int run_embedded(const Arguments& arguments, const Output& output) {
  if (const auto room = expect_open_files(kEmbeddedFiles); !room)
    return fail(arguments, "", room.error());
  const auto report_file = open_report(arguments);
  if (!report_file) return fail(arguments, "", report_file.error());
  auto host = EmbeddedHost::start({arguments.cgroup_root, service_environment()});
  if (!host) return fail(arguments, "", host.error());

  const Attached attached = run_and_wait(inside(arguments, host->address()), output, *report_file);
  if (!attached.reported)
    if (const auto up = host->check(kDeathBound); !up) (void)fail(arguments, "", up.error());
  if (const auto stopped = host->stop(); !stopped) (void)fail(arguments, "", stopped.error());
  return leave(attached);
}

}  // namespace corral::cli
