// `attach_alone CMD…`: what corralctl is to an attached driver, without a service and a run. So the
// tests of terminals and signals tell a fault there from one of the service.
#include <fmt/format.h>

#include <cstdio>

#include "cli/attached_driver.h"

extern char** environ;

int main(int argc, char** argv) {
  using namespace corral;
  cli::ChildPlan plan{{argv + 1, argv + argc}, {}, {}};
  for (char** entry = environ; *entry != nullptr; ++entry) plan.environment.emplace_back(*entry);
  const auto signals = cli::HeldSignals::begin();
  auto driver = cli::AttachedDriver::park(nullptr, plan, *signals);
  if (!driver) return fmt::print(stderr, "{}\n", driver.error().message), 125;
  signals->lift();
  driver->release();
  const cli::DriverEnd end = driver->wait();
  if (driver->failure()) fmt::print(stderr, "{}: {}\n", argv[1], driver->failure()->message);
  cli::AttachedDriver::reap();
  if (end.exit == run::DriverExit::exited) return end.status;
  cli::die_by(end.status);
  return 128 + end.status;
}
