#include "cli/embedded_stack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/parse.h"
#include "cgroup/control.h"
#include "cgroup/group.h"
#include "cli/arguments.h"

namespace corral::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kStartBound{10'000};
constexpr milliseconds kStopBound{10'000};

// Only our own uid passes EXTERNAL and the policy.
constexpr const char* kBusConfig =
    R"(<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <deny user="*"/>
    <allow user="{}"/>
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="false"/>
    <allow receive_sender="*" eavesdrop="false"/>
  </policy>
</busconfig>
)";

bool is_program(const std::string& path) {
  return access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
}

// Beside our own program first, so that a build tree uses its own.
Result<std::string> find_program(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && is_program(self.parent_path() / name)) return (self.parent_path() / name).string();
  const char* path = getenv("PATH");
  for (const auto directory : base::split(path == nullptr ? "/usr/sbin:/usr/bin" : path, ':')) {
    const std::string candidate = fmt::format("{}/{}", directory, name);
    if (is_program(candidate)) return candidate;
  }
  return Error{fmt::format("find {}: neither beside corralctl nor in PATH; install it", name),
               ENOENT};
}

struct Pipe {
  UniqueFd read, write;
};
Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return failed(errno, "make a pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// The service's end of sd_notify(3).
Result<UniqueFd> make_notify_socket(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed(errno, "make a socket");
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path) return failed(ENAMETOOLONG, "bind " + path);
  std::memcpy(name.sun_path, path.data(), path.size());
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
    return failed(errno, "bind " + path);
  return socket;
}

// Takes one message; true where one of its lines is READY=1.
bool says_ready(int socket) {
  std::array<char, 4096> buffer{};
  const ssize_t length = recv(socket, buffer.data(), buffer.size(), 0);
  if (length <= 0) return false;
  const std::string_view message(buffer.data(), static_cast<size_t>(length));
  for (const auto line : base::split(message, '\n'))
    if (line == "READY=1") return true;
  return false;
}

}  // namespace

Result<EmbeddedStack> EmbeddedStack::create(const std::optional<std::string>& cgroup_parent,
                                            const std::vector<std::string>& environment) {
  auto directory = PrivateDirectory::create();
  if (!directory) return directory.error();
  auto group = WorkingGroup::create(cgroup_parent);
  if (!group) return group.error();
  return EmbeddedStack(std::move(*directory), std::move(*group), environment);
}

Result<void> EmbeddedStack::start() {
  if (auto started = start_bus(); !started) return started;
  if (auto started = start_spawner(); !started) return started;
  return start_daemon();
}

Result<EmbeddedChild> EmbeddedStack::start_ready(const std::string& name,
                                                 std::vector<std::string> argv) {
  auto pipe = make_pipe();
  if (!pipe) return pipe.error();
  auto child = EmbeddedChild::start(
      {name, std::move(argv), environment_, log_in(directory_), pipe->write.get()});
  if (!child) return child.error();
  pipe->write.reset();
  if (!wait_readable(pipe->read.get(), *child, kStartBound))
    return with_log(name + " does not start", log_in(directory_));
  return child;
}

Result<void> EmbeddedStack::start_bus() {
  const auto program = find_program("dbus-daemon");
  if (!program) return program.error();
  if (getpwuid(geteuid()) == nullptr)
    return Error{fmt::format("start the message bus: user {} has no entry in passwd(5), which "
                             "dbus-daemon needs; make one",
                             geteuid()),
                 0};
  const std::string config = fmt::format(kBusConfig, directory_ / "bus", geteuid());
  if (auto written = base::replace_at(AT_FDCWD, directory_ / "bus.conf", config); !written)
    return written.error();
  auto child =
      start_ready("the message bus",
                  {*program, "--config-file=" + directory_ / "bus.conf", "--nofork", "--nopidfile",
                   fmt::format("--print-address={}", EmbeddedChild::kReadyFd)});
  if (!child) return child.error();
  bus_.emplace(std::move(*child));
  return {};
}

Result<void> EmbeddedStack::start_spawner() {
  const auto program = find_program("corral-init");
  if (!program) return program.error();
  auto child = start_ready("the spawner", {*program, "--spawn", directory_ / "spawn.sock",
                                           fmt::format("--ready-fd={}", EmbeddedChild::kReadyFd)});
  if (!child) return child.error();
  spawner_.emplace(std::move(*child));
  return {};
}

Result<void> EmbeddedStack::start_daemon() {
  const auto program = find_program("corrald");
  if (!program) return program.error();
  if (auto state = base::make_dir_at(AT_FDCWD, directory_ / "state", 0700); !state)
    return state.error();
  const auto notify = make_notify_socket(directory_ / "notify");
  if (!notify) return notify.error();
  auto child = EmbeddedChild::start(
      {"corrald",
       {*program, "--bus=" + address(), "--cgroup-root=" + group_.path(),
        "--spawner=" + directory_ / "spawn.sock", "--state-dir=" + directory_ / "state"},
       with_settings(environment_, {"NOTIFY_SOCKET=" + directory_ / "notify"}),
       log_in(directory_),
       -1});
  if (!child) return child.error();
  for (bool ready = false; !ready; ready = says_ready(notify->get()))
    if (!wait_readable(notify->get(), *child, kStartBound))
      return with_log("corrald does not start", log_in(directory_));
  daemon_.emplace(std::move(*child));
  return {};
}

bool EmbeddedStack::wait_idle(milliseconds bound) const {
  const auto deadline = steady_clock::now() + bound;
  const auto file = base::open_at(group_.fd(), "runs/cgroup.events", O_RDONLY);
  if (!file) return true;  // corrald has not come as far
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    std::array<char, 256> text{};
    // Reading through this very fd tells the kernel from which state poll(2) reports changes.
    const ssize_t size = pread(file->get(), text.data(), text.size(), 0);
    const auto events =
        cgroup::parse_events({text.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))});
    if (!events || !events->populated || daemon_->exited()) return true;
    if (left.count() <= 0) return false;
    pollfd wait[] = {{file->get(), POLLPRI, 0}, {daemon_->fd(), POLLIN, 0}};
    (void)poll(wait, 2, static_cast<int>(left.count()));  // asked again above
  }
}

void EmbeddedStack::kill_runs() const {
  const auto runs = cgroup::Group::open(group_.fd(), "runs");
  if (runs) (void)cgroup::kill(*runs);  // tried again by stop(), which says what is left
}

Result<void> EmbeddedStack::stop() {
  if (daemon_) daemon_->stop(kStopBound);
  if (spawner_) spawner_->stop(kStopBound);
  if (bus_) bus_->stop(kStopBound);
  return group_.remove();
}

}  // namespace corral::cli
