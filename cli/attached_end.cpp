#include "cli/attached_end.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "cgroup/record.h"
#include "cli/human.h"
#include "dbus/errors.h"
#include "run/record.h"

namespace corral::cli {
namespace {

using std::chrono::steady_clock;

constexpr microseconds kPollTime = std::chrono::seconds{20};
// How long a service may be away, from its last answer. A restart takes a second, a reboot of the
// machine ends us too, and a shell that waits for us should not wait for an administrator.
constexpr std::chrono::seconds kAwayBound{10};
constexpr int kRetryPeriod = 100;  // ms

// Whether the error says that nobody answered, and not what the answer was.
bool is_away(const CallError& error) {
  constexpr std::array kNames = {"",  // no connection
                                 "org.freedesktop.DBus.Error.ServiceUnknown",
                                 "org.freedesktop.DBus.Error.NameHasNoOwner",
                                 "org.freedesktop.DBus.Error.NoReply",
                                 "org.freedesktop.DBus.Error.Disconnected",
                                 "org.freedesktop.DBus.Error.Timeout",
                                 "org.freedesktop.DBus.Error.TimedOut",
                                 "org.freedesktop.DBus.Error.LimitsExceeded"};
  return error.name.starts_with("System.Error.") ||
         std::find(kNames.begin(), kNames.end(), error.name) != kNames.end();
}

// Whether nobody answered for as long as the call was waited for.
bool is_silent(const CallError& error) {
  return error.name.find("Time") != std::string::npos || error.name.ends_with("NoReply");
}

bool is_ignored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

AttachedEnd::AttachedEnd(const Arguments& arguments, const Output& output, const OpenedRun& run,
                         const DriverEnd& end, const HeldSignals& signals)
    : arguments_(arguments), output_(output), run_(run), end_(end), signals_(signals) {}

Called<json> AttachedEnd::finish() {
  signals_.hold_all_but_stops();
  const std::string exit(run::word(end_.exit));
  const auto told = persist(
      [&](Service& service) { return service.report_exit(run_.name.path, exit, end_.status); });
  told_ = true;  // or it never will be
  known_ = told.has_value();
  AttachedDriver::reap();
  if (!told) return tl::unexpected(given_up(told.error()));
  ending_ = true;
  const auto ended = wait_for_end();
  progress_.reset();
  if (!ended) return tl::unexpected(given_up(ended.error()));
  ending_ = false;
  auto report = persist([&](Service& service) {
    return service.get_report({run_.name.id, run_.name.invocation});
  });
  if (!report) return tl::unexpected(given_up(report.error()));
  return report;
}

Called<json> AttachedEnd::wait_for_end() {
  for (;;) {
    auto status = persist([&](Service& service) {
      if (!progress_) progress_.emplace(service, output_, run_.name.id, run_.name.path);
      return service.wait_run({run_.name.id, run_.name.invocation}, "settled", kPollTime);
    });
    if (!status) return status;
    const auto state = status->value("State", "");
    if (state == "ended" || state == "holding") return status;
  }
}

// The call's answer, however often it takes to get one; the last error when the bound is over.
template <typename F>
auto AttachedEnd::persist(F call) -> decltype(call(std::declval<Service&>())) {
  std::optional<steady_clock::time_point> away;
  for (;;) {
    const auto asked = steady_clock::now();
    const auto connected = connect();
    no_bus_ = !connected;
    auto answer = connected ? call(*service_) : tl::unexpected(connected.error());
    if (answer || !is_away(answer.error())) return answer;
    disconnect();
    keep_exit();
    if (!away) away = is_silent(answer.error()) ? asked : steady_clock::now();
    if (steady_clock::now() - *away >= kAwayBound || !pause()) return answer;
  }
}

Called<void> AttachedEnd::connect() {
  if (service_) return {};
  auto service = Service::connect(arguments_.bus);
  if (!service) return tl::unexpected(service.error());
  service_.emplace(std::move(*service));
  service_->watch(signals_.fd(), [this] { take_signals(); });
  return {};
}

void AttachedEnd::disconnect() {
  progress_.reset();
  service_.reset();
}

// As the supervisor of a run of the service's own writes it. A service that comes back finds it, or
// is told again.
void AttachedEnd::keep_exit() {
  if (kept_) return;
  const auto group = cgroup::Group::open(AT_FDCWD, run_.directory);
  kept_ = group ? cgroup::write_record(*group, run::kExitXattr,
                                       to_json(run::Exit{end_.exit, end_.status, end_.when}))
                : Result<void>(group.error());
}

// Until the next attempt; false where a signal says that it is enough.
bool AttachedEnd::pause() {
  pollfd ready{signals_.fd(), POLLIN, 0};
  (void)poll(&ready, 1, kRetryPeriod);
  take_signals();
  return hurried_ == 0;
}

void AttachedEnd::take_signals() {
  while (const auto info = signals_.next()) {
    const int signal = static_cast<int>(info->ssi_signo);
    if (signal == SIGCHLD && told_) AttachedDriver::reap();
    const bool meant =
        signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
    if (!meant || is_ignored(signal)) continue;
    hurry(signal);
  }
}

void AttachedEnd::hurry(int signal) {
  ++hurried_;
  if (!service_) return;
  EndRequest request{
      {run_.name.id, run_.name.invocation}, std::nullopt, "corralctl got " + signal_text(signal)};
  if (hurried_ > 1) request.grace = microseconds{0};
  service_->post_end_run(request, [this](const CallError& error) {
    if (dbus::parse_error_name(error.name) != run::FaultKind::still_populated) return;
    stuck_ = error.message;
    interrupt_if_enough();
  });
  interrupt_if_enough();
}

// What is not the end itself is answered at once, or by nobody.
void AttachedEnd::interrupt_if_enough() {
  const bool patient = ending_ && stuck_.empty();
  if (!service_ || hurried_ < (patient ? 3 : 2)) return;
  cut_ = true;
  service_->interrupt();
}

// For people: what is left, and what is to be done.
CallError AttachedEnd::given_up(const CallError& error) const {
  if (!is_away(error)) return error;
  const std::string& id = run_.name.id;
  if (cut_ && !stuck_.empty())
    return {"", fmt::format("{}; the service goes on, and `corralctl report {}` tells when nothing "
                            "is left",
                            stuck_, id)};
  if (cut_ && ending_)
    return {"", fmt::format("not waited for after the third signal: the run is still ending; the "
                            "service goes on, and `corralctl status {}` shows what is left",
                            id)};
  const std::string who = no_bus_ ? "the message bus" : "the service";
  const std::string why = cut_ ? " does not answer, and was not waited for longer"
                          : hurried_ > 0
                              ? " is away, and was not waited for longer"
                              : fmt::format(" was away for {} s or more", kAwayBound.count());
  return {"", who + why + "; " + exit_text()};
}

// What has become of the driver's exit.
std::string AttachedEnd::exit_text() const {
  const std::string later = fmt::format("`corralctl report {}` has it when {} again", run_.name.id,
                                        no_bus_ ? "bus and service are up" : "the service is up");
  if (arguments_.embedded) return "it was this run's own, and the report is lost with it";
  if (known_) return "it knows how the driver exited, and ends the run; " + later;
  if (kept_ && *kept_)
    return "the driver's exit status was left in the run's directory for it to find, and it ends "
           "the run; " +
           later;
  return fmt::format("the driver's exit status is lost to it ({})",
                     kept_ ? kept_->error().message : "not left in the run's directory");
}

}  // namespace corral::cli
