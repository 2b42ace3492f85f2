#include "daemon/configuration.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>

#include "base/file.h"
#include "base/log.h"
#include "daemon/config_file.h"
#include "daemon/setting.h"

namespace corral::daemon {
namespace {

constexpr size_t kFileBytes = size_t{1} << 20;
constexpr const char* kDefault = "default";

// The variable's directory, or the one below $HOME; "" where neither is known.
std::string xdg_directory(const char* variable, const char* below_home) {
  const char* value = std::getenv(variable);
  if (value != nullptr && *value == '/') return value;
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/' || below_home == nullptr) return "";
  return fmt::format("{}/{}", home, below_home);
}

std::string_view standard(const Setting& setting, const Instance& instance) {
  const auto* path = std::get_if<PathKey>(&setting.kind);
  if (path != nullptr && path->field == &Config::state_directory) return instance.state_directory;
  if (path != nullptr && path->field == &Config::spawner_socket) return instance.spawner_socket;
  return setting.standard;
}

}  // namespace

void apply_defaults(run::Policy& policy, const Config& config) {
  policy.on_driver_exit = config.on_driver_exit;
  policy.settle = config.settle;
  policy.grace = config.grace;
  policy.runtime_max = config.runtime_max;
  policy.hold_max = config.hold_max;
}

Instance Instance::of(uid_t uid) {
  Instance instance;
  instance.state_directory = find_setting("Service", "StateDirectory")->standard;
  instance.spawner_socket = find_setting("Service", "SpawnerSocket")->standard;
  const bool system = uid == 0;
  if (!system) {
    const auto config = xdg_directory("XDG_CONFIG_HOME", ".config");
    const auto state = xdg_directory("XDG_STATE_HOME", ".local/state");
    const auto runtime = xdg_directory("XDG_RUNTIME_DIR", nullptr);
    if (!config.empty()) instance.directories.push_back({config, true});
    if (!state.empty()) instance.state_directory = state + "/corral";
    if (!runtime.empty()) instance.spawner_socket = runtime + "/corral/spawn.sock";
  }
  for (const char* directory : {"/etc", "/run", "/usr/local/lib", "/usr/lib"})
    instance.directories.push_back({directory, system});
  return instance;
}

Configuration::Configuration(const Instance& instance) {
  for (const Setting& setting : kSettings) {
    const auto text = standard(setting, instance);
    if (text.empty()) continue;  // as Config begins
    if (auto made = set(defaults_, setting, text); !made)
      log(Level::error, "{}={}: {}", setting.key, text, made.error().message);
  }
  values_ = defaults_;
  sources_.fill(kDefault);
}

Result<void> Configuration::assign(const Setting& setting, std::string_view text,
                                   std::string source) {
  auto& kept = sources_.at(static_cast<size_t>(&setting - kSettings.data()));
  if (text.empty()) {
    std::visit([&](const auto& kind) { values_.*kind.field = defaults_.*kind.field; },
               setting.kind);
    kept = kDefault;
    return {};
  }
  auto done = set(values_, setting, text);
  if (done) kept = std::move(source);
  return done;
}

std::vector<dbus::ConfigurationRow> Configuration::rows() const {
  std::vector<dbus::ConfigurationRow> rows;
  for (size_t i = 0; i < kSettings.size(); ++i) {
    const Setting& setting = kSettings.at(i);
    rows.push_back({.section = std::string(setting.section),
                    .key = std::string(setting.key),
                    .value = text_of(values_, setting),
                    .source = sources_.at(i)});
  }
  return rows;
}

Loaded load(const Instance& instance, const Given& given) {
  Loaded loaded{Configuration(instance), {}};
  auto& [configuration, problems] = loaded;
  const auto files =
      given.file ? config_files(*given.file, problems) : config_files(instance, problems);
  for (const ConfigFile& file : files) {
    const auto text = base::read_at(AT_FDCWD, file.path, kFileBytes);
    if (text)
      read_config(file, *text, configuration, problems);
    else
      problems.push_back(text.error().message);
  }
  for (const auto& [key, value] : given.values) {
    const auto assigned =
        configuration.assign(*find_setting("Service", key), value, "command line");
    if (!assigned)
      problems.push_back(
          fmt::format("command line: {}={}: {}", key, value, assigned.error().message));
  }
  return loaded;
}

}  // namespace corral::daemon
