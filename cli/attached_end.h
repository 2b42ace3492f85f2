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
// second kills, and is the last word where the service says that something is left even then; a
// third gives up whatever goes on. Where the service is away one is enough to give up, and two
// where it is there and does not answer. Each other is dropped, the driver being gone; the terminal
// may stop this process.
class AttachedEnd {
 public:
  // All that is passed by reference outlives it.
  AttachedEnd(const Arguments& arguments, const Output& output, const OpenedRun& run,
              const DriverEnd& end, const HeldSignals& signals);

  // Tells the service of the exit, reaps the driver, and gives the report once nothing is left, or
  // what is left is held. Where it gives up, the error says what is left, and what to do. Of a
  // service that stays away for longer than kAwayBound: the exit is in the run's directory then, if
  // that is ours to write, for the service to find when it is back.
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
  void hurry(int signal);
  void interrupt_if_enough();
  CallError given_up(const CallError& error) const;
  std::string exit_text() const;

  const Arguments& arguments_;
  const Output& output_;
  const OpenedRun& run_;
  const DriverEnd& end_;
  const HeldSignals& signals_;
  std::optional<Service> service_;
  std::optional<Progress> progress_;
  std::optional<Result<void>> kept_;   // how leaving the exit in the directory went
  bool told_ = false, known_ = false;  // the exit: no more to be told; the service has it
  bool ending_ = false;                // the end is waited for, which may take its time
  bool no_bus_ = false;                // of the last attempt
  bool cut_ = false;                   // signals ended a call
  unsigned hurried_ = 0;
  std::string stuck_;  // what the service says is left after the kill
};

}  // namespace corral::cli
