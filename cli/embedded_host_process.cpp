#include "cli/embedded_host_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <nlohmann/json.hpp>

#include "cli/embedded_channel.h"
#include "cli/embedded_stack.h"
#include "cli/service.h"

namespace corral::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kSocket = STDERR_FILENO + 1;
// A run that is tied to corralctl is ended by corrald itself, and its report says so; that is under
// way after this time.
constexpr milliseconds kHeadStart{1'000};

// Nothing of the caller's stays open: not its pipes, whose readers wait for an end of file, and not
// its terminal.
int leave_caller(UniqueFd socket) {
  (void)setsid();                       // cannot fail in a fork, which leads no process group
  (void)std::signal(SIGCHLD, SIG_DFL);  // ignored, it would leave nothing to wait for
  (void)prctl(PR_SET_NAME, "corral-host");
  // What a part of the service leaves behind is not to become a child of corralctl, which may have
  // made itself the reaper of its driver's descendants.
  (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) (void)dup2(null, fd);
  const int given = socket.release();
  if (given != kSocket) (void)dup3(given, kSocket, O_CLOEXEC);
  closefrom(kSocket + 1);
  return kSocket;
}

// Asks corrald to end what is not ending. The connection has to live until it has: corrald asks the
// bus who its callers are.
std::optional<Service> ask_for_ends(const std::string& address) {
  auto service = Service::connect({dbus::BusKind::address, address});
  const auto runs = service ? service->list_runs({}) : Called<json>(json::array());
  if (!service || !runs) return std::nullopt;  // the bound is for that
  for (const json& run : *runs)
    if (run.at("State") != "ending")
      service->post_end_run(
          {{run.at("Id").get<std::string>(), run.at("Invocation").get<std::string>()},
           std::nullopt,
           "corralctl is gone"});
  return std::move(*service);
}

void end_runs(const EmbeddedStack& stack, milliseconds bound) {
  const auto deadline = steady_clock::now() + bound;
  if (stack.wait_idle(std::min(bound, kHeadStart))) return;
  const auto asking = ask_for_ends(stack.address());
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
  if (!stack.wait_idle(std::max(left, milliseconds{0}))) stack.kill_runs();
}

Result<void> start(EmbeddedStack& stack, int socket) {
  // Where corralctl is gone already, receiving says so.
  (void)send_message(
      socket,
      {kHostAt, stack.directory().path(), stack.group().parent_path(), stack.group().name()},
      stack.group().fds());
  if (auto started = stack.start(); !started) return started;
  (void)send_message(socket, {kHostUp}, stack.fds());
  return {};
}

Result<void> serve(int socket, const HostOptions& options) {
  auto stack = EmbeddedStack::create(options.cgroup_parent, options.environment);
  if (!stack) return stack.error();
  if (auto started = start(*stack, socket); !started) return started;
  if (!receive_message(socket)) end_runs(*stack, options.end_bound);
  (void)stack->stop();  // corralctl looks for itself what is left
  return {};
}

void say_failed(int socket, const Error& error) {
  // Where corralctl is gone there is nobody to tell.
  (void)send_message(socket, {kHostFailed, std::to_string(error.code), error.message});
}

}  // namespace

void run_host(UniqueFd given, const HostOptions& options) {
  int socket = -1;
  try {
    socket = leave_caller(std::move(given));
    if (const auto served = serve(socket, options); !served) say_failed(socket, served.error());
  } catch (const std::exception& bug) {
    say_failed(socket, Error{fmt::format("internal error: {}", bug.what()), 0});
  }
  _exit(EXIT_SUCCESS);  // not exit(3): buffers and handlers are those of corralctl
}

}  // namespace corral::cli
