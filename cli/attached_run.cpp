#include "cli/attached_run.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/attached_driver.h"
#include "cli/attached_end.h"
#include "cli/exit_status.h"
#include "cli/open_files.h"
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
Attached see_through(const Arguments& arguments, const Output& output, const OpenedRun& run,
                     AttachedDriver& driver, const HeldSignals& signals,
                     const std::optional<ReportFile>& report_file) {
  driver.release();
  const DriverEnd end = driver.wait();
  if (driver.failure())
    write_error(fmt::format("corralctl: {}\n", printable(driver.failure()->message)));
  const int own = status_of_driver(end.exit, end.status);
  Attached attached{own, std::nullopt, false};
  if (const auto report = AttachedEnd(arguments, output, run, end, signals).finish()) {
    attached.reported = true;
    attached.status = conclude(arguments, output, report_file, *report, own);
  } else {
    (void)fail(arguments, run.name.id, report.error());
  }
  if (attached.status == own && end.exit != run::DriverExit::exited) attached.signal = end.status;
  return attached;
}

}  // namespace

Attached run_and_wait(const Arguments& arguments, const Output& output,
                      const std::optional<ReportFile>& report_file) {
  const auto failed_as = [](int status) { return Attached{status, std::nullopt, false}; };
  auto service = Service::connect(arguments.bus);
  if (!service) return failed_as(fail(arguments, "", service.error()));
  const auto run = service->open_run(arguments.start);
  if (!run) return failed_as(fail(arguments, "", run.error()));
  const auto signals = HeldSignals::begin();
  if (!signals) return failed_as(fail(arguments, "", signals.error()));
  auto driver = park(arguments, *run, *signals);
  if (!driver) return failed_as(fail(arguments, run->name.id, driver.error()));

  signals->lift();  // until it runs, what ends us is to end it, too
  const auto attached = service->attach(run->name.path, static_cast<uint32_t>(driver->pid()));
  if (!attached) {
    driver->abandon();
    return failed_as(fail(arguments, run->name.id, attached.error()));
  }
  service = tl::unexpected(CallError{});  // a connection less for the bus to keep
  return see_through(arguments, output, *run, *driver, *signals, report_file);
}

int leave(const Attached& attached) {
  if (attached.signal) die_by(*attached.signal);
  return attached.status;
}

int run_attached(const Arguments& arguments, const Output& output) {
  if (const auto room = expect_open_files(kAttachedFiles); !room)
    return fail(arguments, "", room.error());
  const auto report_file = open_report(arguments);
  if (!report_file) return fail(arguments, "", report_file.error());
  return leave(run_and_wait(arguments, output, *report_file));
}

}  // namespace corral::cli
