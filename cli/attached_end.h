#pragma once

#include <chrono>
#include <optional>

#include "cli/arguments.h"
#include "cli/attached_driver.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/service.h"

namespace corral::cli {

// From the exit of an attached driver to the report of its run. Connects anew, as nothing was held
// while the driver ran, and again where the service or the bus goes away meanwhile.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT are impatience: the first ends the time for settling, the
// second kills; where the service is away, one is enough to give up. Each other is dropped, the
// driver being gone; the terminal may stop this process.
class AttachedEnd {
 public:
  // All that is passed by reference outlives it.
  AttachedEnd(const Arguments& arguments, const Output& output, const OpenedRun& run,
              const DriverEnd& end, const HeldSignals& signals);

  // Tells the service of the exit, reaps the driver, and gives the report once nothing is left, or
  // what is left is held. Where the service stays away for longer than kAwayBound, gives the last
  // error; the exit is in the run's directory then, if that is ours to write, for the service to
  // find when it is back.
  Called<json> finish();

 private:
  template <typename F>
  auto persist(F call) -> decltype(call(std::declval<Service&>()));
  Called<void> connect();
  void disconnect();
  Called<json> wait_for_end();
  void keep_exit();
  bool pause();
  void take_signals();

  const Arguments& arguments_;
  const Output& output_;
  const OpenedRun& run_;
  const DriverEnd& end_;
  const HeldSignals& signals_;
  std::optional<Service> service_;
  std::optional<Progress> progress_;
  bool kept_ = false, told_ = false;
  unsigned hurried_ = 0;
};

}  // namespace corral::cli
