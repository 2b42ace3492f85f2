#include "cli/attached_run.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "cli/attached_driver.h"
#include "cli/attached_end.h"
#include "cli/exit_status.h"
#include "cli/printable.h"
#include "cli/run_report.h"
#include "cli/session.h"

namespace corral::cli {
namespace {

ChildPlan plan_of(const Arguments& arguments, const RunName& run) {
  const StartRequest& start = arguments.start;
  return {start.argv,
          with_settings(start.environment,
                        {"CORRAL_RUN_ID=" + run.id, "CORRAL_INVOCATION=" + run.invocation}),
          start.working_directory};
}

// The driver, parked, where the directory can be had; where it lies behind another mount namespace
// the service moves it.
Result<AttachedDriver> park(const Arguments& arguments, const OpenedRun& run,
                            const HeldSignals& signals) {
  const auto work = cgroup::Group::open(AT_FDCWD, run.directory + "/work");
  return AttachedDriver::park(work ? &*work : nullptr, plan_of(arguments, run.name), signals);
}

// The driver's way from its release to the report of its run.
int see_through(const Arguments& arguments, const Output& output, const OpenedRun& run,
                AttachedDriver& driver, const HeldSignals& signals, int report_file,
                DriverEnd& end) {
  driver.release();
  end = driver.wait();
  if (driver.failure())
    write_error(fmt::format("corralctl: {}\n", printable(driver.failure()->message)));
  const int status = status_of_driver(end.exit, end.status);
  const auto report = AttachedEnd(arguments, output, run, end, signals).finish();
  if (report) return conclude(arguments, output, report_file, *report, status);
  (void)fail(arguments, run.name.id, report.error());
  return status;
}

}  // namespace

int run_attached(const Arguments& arguments, const Output& output) {
  const auto report_file = open_report(arguments);
  if (!report_file) return fail(arguments, "", report_file.error());
  auto service = Service::connect(arguments.bus);
  if (!service) return fail(arguments, "", service.error());
  const auto run = service->open_run(arguments.start);
  if (!run) return fail(arguments, "", run.error());
  const auto signals = HeldSignals::begin();
  if (!signals) return fail(arguments, "", signals.error());
  auto driver = park(arguments, *run, *signals);
  if (!driver) return fail(arguments, run->name.id, driver.error());

  signals->lift();  // until it runs, what ends us is to end it, too
  const auto attached = service->attach(run->name.path, static_cast<uint32_t>(driver->pid()));
  if (!attached) {
    driver->abandon();
    return fail(arguments, run->name.id, attached.error());
  }
  service = tl::unexpected(CallError{});  // a connection less for the bus to keep
  DriverEnd end;
  const int status =
      see_through(arguments, output, *run, *driver, *signals, report_file->get(), end);
  const int drivers = status_of_driver(end.exit, end.status);
  if (status == drivers && end.exit != run::DriverExit::exited) die_by(end.status);
  return status;
}

}  // namespace corral::cli
