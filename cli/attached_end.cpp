#include "cli/attached_end.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cgroup/record.h"
#include "cli/human.h"
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
  AttachedDriver::reap();
  if (!told) return tl::unexpected(told.error());
  const auto ended = wait_for_end();
  progress_.reset();
  if (!ended) return ended;
  return persist([&](Service& service) {
    return service.get_report({run_.name.id, run_.name.invocation});
  });
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
    const auto connected = connect();
    auto answer = connected ? call(*service_) : tl::unexpected(connected.error());
    if (answer || !is_away(answer.error())) return answer;
    disconnect();
    keep_exit();
    if (!away) away = steady_clock::now();
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
  if (std::exchange(kept_, true)) return;
  const auto group = cgroup::Group::open(AT_FDCWD, run_.directory);
  if (!group) return;
  // Somebody else's directory: then the exit is lost with us, as finish() says.
  (void)cgroup::write_record(*group, run::kExitXattr,
                             to_json(run::Exit{end_.exit, end_.status, end_.when}));
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
    ++hurried_;
    if (!service_) continue;
    EndRequest request{
        {run_.name.id, run_.name.invocation}, std::nullopt, "corralctl got " + signal_text(signal)};
    if (hurried_ > 1) request.grace = microseconds{0};
    service_->post_end_run(request);
  }
}

}  // namespace corral::cli
