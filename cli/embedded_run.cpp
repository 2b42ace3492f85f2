#include "cli/embedded_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/decode.h"
#include "cli/embedded_host.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/run_report.h"
#include "cli/session.h"
#include "dbus/errors.h"

namespace corral::cli {
namespace {

constexpr microseconds kPollTime = std::chrono::seconds{20};
// From a lost connection to the exit of whoever was at its other end.
constexpr std::chrono::milliseconds kDeathBound{500};

// SIGINT, SIGTERM and SIGHUP as an fd, from now to the end of the process: while it takes itself
// down nothing may cut that short.
Result<UniqueFd> block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  if (sigprocmask(SIG_BLOCK, &signals, nullptr) != 0) return failed(errno, "block signals");
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return failed(errno, "make a signalfd");
  return fd;
}

// Our own standard streams, where the command line names no other.
StartRequest embedded_request(const Arguments& arguments, const std::string& address) {
  StartRequest request = arguments.start;
  request.environment = with_settings(request.environment, {"CORRAL_BUS_ADDRESS=" + address});
  Stream* const streams[] = {&request.input, &request.output, &request.error};
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (streams[fd]->text.empty() && fcntl(fd, F_GETFD) >= 0) streams[fd]->fd = fd;
  return request;
}

// The status of a shell for a command that could not be executed (dash(1), 126 and 127). The step
// and the text of errno are in the report.
int status_of_failed_start(const json& report) {
  const std::string why = report.value("EndMessage", "");
  const auto ends_with = [&](int code) {
    return why.ends_with(std::string(": ") + strerror(code));
  };
  if (!why.starts_with("exec ")) return kOwnFailure;
  return ends_with(ENOENT) ? kNotFound : ends_with(EACCES) ? kCannotExecute : kOwnFailure;
}

// One run from its start to its report.
class EmbeddedRun {
 public:
  EmbeddedRun(const Arguments& arguments, const Output& output, Service& service, int signals)
      : arguments_(arguments),
        output_(output),
        service_(service),
        signals_(signals),
        run_{arguments.start.id, std::nullopt} {}

  // kSuccess once the driver executes, else the exit status.
  int start(const StartRequest& request) {
    const auto started = service_.start_run(request);
    if (!started) return fail(arguments_, "", started.error());
    run_.invocation = started->invocation;
    path_ = started->path;
    // Not before: a run that is ended while it starts is killed, not asked.
    service_.watch(signals_, [this] { take_signals(); });
    return kSuccess;
  }

  Called<json> report() { return service_.get_report(run_); }

  // The report, once nothing is left.
  Called<json> wait() {
    auto status = reach("driver");
    if (!status) return status;
    if (!has_ended(*status)) {
      show_progress();
      status = reach("ended");
      progress_.reset();
      if (!status) return status;
    }
    return report();
  }

 private:
  static bool has_ended(const json& status) { return status.value("State", "") == "ended"; }

  Called<json> reach(const std::string& until) {
    for (;;) {
      auto status = service_.wait_run(run_, until, kPollTime);
      const bool driver = until == "driver";
      if (!status || has_ended(*status) || (driver && status->value("DriverExit", "") != ""))
        return status;
    }
  }

  // The first asks, as EndRun does; the second kills.
  void take_signals() {
    signalfd_siginfo info{};
    while (read(signals_, &info, sizeof info) == sizeof info) {
      EndRequest request{run_, std::nullopt,
                         "corralctl got " + signal_text(static_cast<int>(info.ssi_signo))};
      if (asked_) request.grace = microseconds{0};
      asked_ = true;
      service_.post_end_run(request);
      show_progress();
    }
  }

  void show_progress() {
    if (!progress_ && !path_.empty()) progress_.emplace(service_, output_, run_.id, path_);
  }

  const Arguments& arguments_;
  const Output& output_;
  Service& service_;
  const int signals_;
  RunRef run_;
  std::string path_;
  bool asked_ = false;
  std::optional<Progress> progress_;
};

struct Outcome {
  int status = kSuccess;  // of a failure of our own
  json report;            // null where there is none
};

// The run in a service that is up.
Outcome run_in(const EmbeddedHost& host, const Arguments& arguments, const Output& output,
               int signals) {
  auto service = Service::connect({dbus::BusKind::address, host.address()});
  if (!service) return {fail(arguments, "", service.error()), {}};
  EmbeddedRun run(arguments, output, *service, signals);
  const int status = run.start(embedded_request(arguments, host.address()));
  if (status != kSuccess) {
    // A start that got as far as the driver has a report, which says at which step it failed.
    auto report = run.report();
    if (!report) return {status, {}};
    return {status_of_failed_start(*report), std::move(*report)};
  }
  auto report = run.wait();
  if (!report) return {fail(arguments, arguments.start.id, report.error()), {}};
  return {kSuccess, std::move(*report)};
}

// What is said of the run, and the status that it leaves us with.
int conclude_embedded(const Arguments& arguments, const Output& output, int file,
                      const Outcome& outcome) {
  if (outcome.report.is_null()) return outcome.status;
  if (outcome.status != kSuccess) {
    const int written = write_report(arguments, file, outcome.report);
    return written != kSuccess ? written : outcome.status;
  }
  const auto report = report_of(outcome.report);
  if (!report) return fail(arguments, arguments.start.id, report.error());
  return conclude(arguments, output, file, outcome.report,
                  status_of_driver(report->driver_exit, report->driver_status));
}

// What the service is started with: not what a service manager said to us alone.
std::vector<std::string> service_environment() {
  auto environment = Surroundings::of_process().environment;
  for (const char* name : {"NOTIFY_SOCKET=", "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES=",
                           "WATCHDOG_PID=", "WATCHDOG_USEC="})
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(name); });
  return environment;
}

}  // namespace

int run_embedded(const Arguments& arguments, const Output& output) {
  const auto report_file = open_report(arguments);
  if (!report_file) return fail(arguments, "", report_file.error());
  const auto signals = block_signals();
  if (!signals) return fail(arguments, "", signals.error());
  auto host = EmbeddedHost::start({arguments.cgroup_root, service_environment()});
  if (!host) return fail(arguments, "", host.error());

  const Outcome outcome = run_in(*host, arguments, output, signals->get());
  if (outcome.report.is_null())
    if (const auto up = host->check(kDeathBound); !up) (void)fail(arguments, "", up.error());
  if (const auto stopped = host->stop(); !stopped) (void)fail(arguments, "", stopped.error());
  return conclude_embedded(arguments, output, report_file->get(), outcome);
}

}  // namespace corral::cli
