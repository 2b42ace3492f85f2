#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/loop.h"
#include "daemon/service.h"
#include "daemon/version.h"

namespace corral::daemon {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBusLost = 75;  // EX_TEMPFAIL of sysexits(3): start us again

struct Arguments {
  std::string bus = "system";
  std::string cgroup_root, spawner, state_dir;
};

// The files of a system service, or of a user's (file-hierarchy(7)).
void fill_defaults(Arguments& arguments) {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const bool system = geteuid() == 0;
  if (arguments.spawner.empty())
    arguments.spawner = system || runtime == nullptr ? "/run/corral/spawn.sock"
                                                     : std::string(runtime) + "/corral/spawn.sock";
  if (!arguments.state_dir.empty()) return;
  if (system || home == nullptr) {
    arguments.state_dir = "/var/lib/corral";
  } else {
    arguments.state_dir =
        (state != nullptr ? std::string(state) : std::string(home) + "/.local/state") + "/corral";
  }
}

// A run needs an fd, and systemd's soft limit is 1024.
void raise_fd_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
    log(Level::warning, "{}", failed(errno, "raise RLIMIT_NOFILE").message);
}

int fail(const Error& error) {
  log(Level::error, "corrald: {}", error.message);
  return kExitFailure;
}

int serve(const Settings& settings) {
  Loop loop;
  auto boot = base::boot_id();
  if (!boot) return fail(boot.error());
  auto store = Store::open(settings.state_directory);
  if (!store) return fail(store.error());
  auto watcher = Watcher::create(loop);
  if (!watcher) return fail(watcher.error());

  Service service(loop, settings, std::move(*store), std::move(*watcher), *boot);
  service.recover();
  auto server = dbus::Server::open(settings.bus, loop.get(), service, [&loop] {
    log(Level::error, "corrald: the bus is gone; runs go on, start the service again");
    loop.exit(kExitBusLost);
  });
  if (!server) return fail(server.error());
  service.attach(**server);
  if (auto named = (*server)->request_name(); !named) return fail(named.error());
  service.probe();

  const auto stop = [&] {
    sd_notify(0, "STOPPING=1");
    service.stop([&loop] { loop.exit(0); });
  };
  const Source on_term = loop.on_signal(SIGTERM, stop);
  const Source on_int = loop.on_signal(SIGINT, stop);
  sd_notify(0, "READY=1");
  const int code = loop.run();
  (*server)->flush();
  return code;
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Run containment service"};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", kVersion);
  app.add_option("--bus", arguments.bus, "system, user, or a D-Bus address")->capture_default_str();
  app.add_option("--cgroup-root", arguments.cgroup_root,
                 "A delegated cgroup2 directory for the runs (default: corral, below the service's "
                 "own cgroup)");
  app.add_option("--spawner", arguments.spawner, "The socket of corral-init --spawn");
  app.add_option("--state-dir", arguments.state_dir, "Where reports are kept");
  CLI11_PARSE(app, argc, argv);
  fill_defaults(arguments);
  raise_fd_limit();
  (void)std::signal(SIGPIPE, SIG_IGN);
  Settings settings{.bus = dbus::BusAddress::parse(arguments.bus),
                    .cgroup_root = {},
                    .spawner_socket = arguments.spawner,
                    .state_directory = arguments.state_dir};
  if (!arguments.cgroup_root.empty()) settings.cgroup_root = arguments.cgroup_root;
  return serve(settings);
}

}  // namespace
}  // namespace corral::daemon

int main(int argc, char** argv) {
  try {
    return corral::daemon::main_of(argc, argv);
  } catch (const std::exception& error) {
    corral::log(corral::Level::error, "corrald: {}", error.what());
    return 1;
  }
}
