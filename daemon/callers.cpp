#include "daemon/callers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/parse.h"
#include "cgroup/mount.h"

namespace corral::daemon {
namespace {

// The last part of the path that names a unit: "/system.slice/foo.service/sub" is foo.service's.
std::string unit_in(std::string_view path) {
  std::string unit;
  for (const auto part : base::split(path, '/')) {
    if (part.ends_with(".service") || part.ends_with(".scope")) unit = part;
  }
  return unit;
}

}  // namespace

bool has_exited(const dbus::Caller& caller) {
  pollfd exited{.fd = caller.pidfd, .events = POLLIN, .revents = 0};
  return caller.pid == 0 || caller.pidfd < 0 || poll(&exited, 1, 0) != 0;
}

bool same_pid_namespace(const dbus::Caller& caller) {
  struct stat ours {
  }, theirs{};
  if (stat("/proc/self/ns/pid", &ours) < 0) return true;
  if (stat(fmt::format("/proc/{}/ns/pid", caller.pid).c_str(), &theirs) < 0)
    return true;  // not ours to see
  return ours.st_ino == theirs.st_ino;
}

run::Who who(const dbus::Caller& caller) {
  run::Who who{.uid = caller.uid, .pid = static_cast<uint32_t>(caller.pid), .comm = {}, .unit = {}};
  if (caller.pid == 0) return who;
  if (auto comm = base::read_at(AT_FDCWD, fmt::format("/proc/{}/comm", caller.pid), 256))
    who.comm = base::escape(base::trimmed(*comm));
  if (auto path = cgroup::path_of(caller.pid)) who.unit = base::escape(unit_in(*path));
  return who;
}

Seat seat_of(const dbus::Caller& caller, const Root* root) {
  if (root == nullptr) return {.known = true, .why_not = {}, .run = {}};
  const Seat gone{.known = false, .why_not = "the caller's process is gone", .run = {}};
  if (caller.pid == 0 || caller.pidfd < 0) return gone;
  auto run = root->run_of(caller.pid);
  // Read first, then asked whether it is still there: else the number could be another's by now.
  if (has_exited(caller)) return gone;
  if (!run) return {.known = false, .why_not = run.error().message, .run = {}};
  return {.known = true, .why_not = {}, .run = *run};
}

}  // namespace corral::daemon
