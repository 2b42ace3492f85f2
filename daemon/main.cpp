#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/configuration.h"
#include "daemon/loop.h"
#include "daemon/service.h"
#include "daemon/setting.h"
#include "daemon/version.h"

namespace corral::daemon {
namespace {

constexpr int kExitFailure = 1;
constexpr int kExitBusLost = 75;  // EX_TEMPFAIL of sysexits(3): start us again

constexpr int kExitConfig = 78;  // EX_CONFIG

struct Arguments {
  std::string bus = "system";
  std::string config, cgroup_root, spawner, state_dir;
  bool test_config = false, dump = false;

  Given given() const {
    Given given;
    if (!config.empty()) given.file = std::filesystem::absolute(config);
    const auto add = [&](const char* key, const std::string& path) {
      if (!path.empty()) given.values.emplace_back(key, std::filesystem::absolute(path));
    };
    add("CgroupRoot", cgroup_root);
    add("SpawnerSocket", spawner);
    add("StateDirectory", state_dir);
    return given;
  }
};

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
  const Config& config = settings.configuration.values();
  Loop loop;
  auto boot = base::boot_id();
  if (!boot) return fail(boot.error());
  auto store = Store::open(config.state_directory, config.sync);
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

void define(CLI::App& app, Arguments& arguments) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_version_flag("--version", kVersion);
  app.add_option("--bus", arguments.bus, "system, user, or a D-Bus address")->capture_default_str();
  app.add_option("--config", arguments.config,
                 "Read this file and its FILE.d/*.conf instead of corrald.conf");
  app.add_flag("--test-config", arguments.test_config,
               "Say what is wrong with the configuration, and exit");
  app.add_flag("--dump-configuration-items", arguments.dump,
               "Print every key and its default as a configuration file, and exit");
  app.add_option("--cgroup-root", arguments.cgroup_root, "As CgroupRoot= in corrald.conf");
  app.add_option("--spawner", arguments.spawner, "As SpawnerSocket= in corrald.conf");
  app.add_option("--state-dir", arguments.state_dir, "As StateDirectory= in corrald.conf");
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Run containment service"};
  define(app, arguments);
  CLI11_PARSE(app, argc, argv);
  if (arguments.dump) {
    fmt::print("{}", settings_as_file());
    return 0;
  }
  const Loaded loaded = load(Instance::of(geteuid()), arguments.given());
  for (const std::string& problem : loaded.problems) log(Level::error, "{}", problem);
  if (!loaded.problems.empty()) return kExitConfig;
  if (arguments.test_config) return 0;
  raise_fd_limit();
  (void)std::signal(SIGPIPE, SIG_IGN);
  return serve(
      {.bus = dbus::BusAddress::parse(arguments.bus), .configuration = loaded.configuration});
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
