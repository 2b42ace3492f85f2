#include "dbus/paths.h"

#include <systemd/sd-bus.h>

#include <cstdlib>
#include <memory>
#include <new>

#include "dbus/server.h"

namespace corral::dbus {

std::string run_path(const std::string& id, const std::string& invocation) {
  const std::string prefix = std::string(kManagerPath) + "/run";
  char* path = nullptr;
  if (sd_bus_path_encode(prefix.c_str(), id.c_str(), &path) < 0) throw std::bad_alloc();
  const std::unique_ptr<char, decltype(&free)> owner(path, &free);
  return std::string(path) + "/" + invocation;
}

std::string parent_path(const run::Status& status) {
  return status.parent ? run_path(status.parent->id, status.parent->invocation) : "/";
}

std::string run_path(const run::RunId& id, const run::Invocation& invocation) {
  return run_path(id.text(), invocation.text());
}

}  // namespace corral::dbus
