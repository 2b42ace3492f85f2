#include <unistd.h>

#include <filesystem>

#include "base/clock.h"
#include "cli/arguments.h"

namespace corral::cli {

dbus::BusAddress choose_bus(const std::optional<std::string>& bus, bool system, bool user,
                            const Surroundings& surroundings) {
  if (bus) return dbus::BusAddress::parse(*bus);
  if (system) return {dbus::BusKind::system, ""};
  if (user) return {dbus::BusKind::user, ""};
  const auto address = surroundings.variable("CORRAL_BUS_ADDRESS");
  if (address && !address->empty()) return dbus::BusAddress::parse(*address);
  return {surroundings.uid == 0 ? dbus::BusKind::system : dbus::BusKind::user, ""};
}

std::vector<std::string> with_settings(std::vector<std::string> environment,
                                       const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::string start = setting.substr(0, setting.find('=') + 1);
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(start); });
    environment.push_back(setting);
  }
  return environment;
}

Surroundings Surroundings::of_process() {
  Surroundings surroundings;
  surroundings.uid = geteuid();
  for (char** entry = environ; *entry != nullptr; ++entry)
    surroundings.environment.emplace_back(*entry);
  std::error_code error;
  surroundings.directory = std::filesystem::current_path(error).string();
  surroundings.fresh_id = "run-" + base::random_hex().substr(0, 8);
  return surroundings;
}

std::optional<std::string> Surroundings::variable(const std::string& name) const {
  const std::string start = name + "=";
  for (const std::string& entry : environment)
    if (entry.starts_with(start)) return entry.substr(start.size());
  return std::nullopt;
}

}  // namespace corral::cli
