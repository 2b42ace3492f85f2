#include "cgroup/control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>

#include "base/file.h"
#include "base/parse.h"
#include "cgroup/mount.h"
#include "cgroup/pidfd.h"
#include "cgroup/walk.h"

namespace corral::cgroup {
namespace {

constexpr int kPasses = 100;  // of a walk against processes that fork faster than it kills

// The root has no cgroup.events, and so counts as gone: what kills a group that has no cgroup.kill
// by walking it must never take the whole system for one.
bool is_gone(const Group& group) {
  const auto events = group.events();
  return !events && cgroup::is_gone(events.error());
}

Error about(const Group& group, const Error& error) {
  return {fmt::format("{}: {}", group.name(), error.message), error.code};
}

bool is_at_or_below(const std::string& path, const std::string& top) {
  // What lies outside of our cgroup namespace is shown as "/../x".
  if (top == "/") return path != "/.." && !path.starts_with("/../");
  return path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/');
}

// Signals the process if its cgroup is `top` or lies below. Since it was listed, the number may
// have come to mean another process, or its process may have been moved away. The pidfd is opened
// first, and after the look into /proc it must not have exited: until then the number was its own,
// so what /proc said was said of it. Paths will do for the comparison: a cgroup cannot be renamed,
// and the top's own path was read from its fd.
Result<bool> signal_below(const std::string& top, pid_t pid, int number) {
  const auto process = Pidfd::open(pid);
  if (!process) return process.error();
  const auto path = path_of(pid);
  if (!path) return path.error();
  if (!is_at_or_below(*path, top) || process->exited()) return false;
  const auto sent = process->signal(number);
  if (!sent) return sent.error();
  return true;
}

// Sends one signal to each process of a tree. One that cannot be signalled does not shield the
// others: the first such error is kept.
class Signaller {
 public:
  Signaller(std::string top, int number, pid_t except)
      : top_(std::move(top)), number_(number), except_(except) {}

  // Returns how many processes it signalled that no pass before had.
  unsigned pass(const Group& group) {
    unsigned fresh = 0;
    const auto walked = each_group(group, [&](const Group& sub, const std::string&) {
      const auto pids = pids_of(sub);
      if (!pids) keep(pids.error());
      for (const pid_t pid : pids.value_or(std::vector<pid_t>{}))
        if (pid != except_ && signal(pid) && signalled_.insert(pid).second) ++fresh;
      return Result<void>{};
    });
    if (!walked) keep(walked.error());
    return fresh;
  }

  Result<unsigned> result() const {
    if (error_) return *error_;
    return static_cast<unsigned>(signalled_.size());
  }

 private:
  bool signal(pid_t pid) {
    const auto sent = signal_below(top_, pid, number_);
    if (!sent) keep(sent.error());
    return sent.value_or(false);
  }
  void keep(const Error& error) {
    if (error.code != ESRCH && !error_) error_ = error;  // ESRCH: went meanwhile
  }

  std::string top_;
  int number_;
  pid_t except_;
  std::set<pid_t> signalled_;
  std::optional<Error> error_;
};

Result<unsigned> signal_tree(const Group& group, int number, pid_t except, int passes) {
  auto path = path_of(group);
  if (!path && is_gone(group)) return 0U;
  if (!path) return path.error();
  Signaller signaller(std::move(*path), number, except);
  while (passes-- > 0 && signaller.pass(group) > 0) {
  }
  return signaller.result();
}

Result<void> write_freeze(int directory, bool frozen) {
  return base::write_at(directory, "cgroup.freeze", frozen ? "1" : "0");
}

std::chrono::milliseconds left_until(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::ceil, std::chrono::milliseconds;
  const auto left = ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, milliseconds(0));
}

// A removal wakes nobody who polls cgroup.events, and can overtake the event of `populated 0`.
constexpr std::chrono::milliseconds kRemovalLook{50};

// A group that is gone is neither populated nor frozen.
Result<bool> wait_for(const Group& group, bool Events::*field, bool wanted,
                      std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  auto file = base::open_at(group.fd(), "cgroup.events", O_RDONLY);
  if (!file && cgroup::is_gone(file.error())) return !wanted;
  if (!file) return about(group, file.error());
  for (;;) {
    const auto left = left_until(deadline);  // before the read: the last look is after the deadline
    char text[256];
    // Reading through this very fd tells the kernel which state poll(2) shall report changes from.
    const ssize_t size = pread(file->get(), text, sizeof text, 0);
    if (size < 0 && (errno == ENODEV || errno == ENOENT)) return !wanted;
    if (size < 0) return failed(errno, fmt::format("read {}/cgroup.events", group.name()));
    const auto events = parse_events({text, static_cast<size_t>(size)});
    if (!events) return events.error();
    if ((*events).*field == wanted) return true;
    if (left.count() == 0) return false;
    pollfd wait{.fd = file->get(), .events = POLLPRI, .revents = 0};
    const auto pause = static_cast<int>(std::min(left, kRemovalLook).count());
    if (poll(&wait, 1, pause) < 0 && errno != EINTR)
      return failed(errno, fmt::format("poll {}/cgroup.events", group.name()));
  }
}

}  // namespace

Result<void> kill(const Group& group) {
  const auto written = base::write_at(group.fd(), "cgroup.kill", "1");
  if (written) return {};
  const int code = written.error().code;
  if (cgroup::is_gone(written.error()) && is_gone(group)) return {};
  // ENOENT: a kernel before 5.14. EOPNOTSUPP: a threaded cgroup, which is no unit of killing.
  if (code != ENOENT && code != EOPNOTSUPP) return about(group, written.error());
  const auto walked = kill_by_walk(group);
  return walked ? Result<void>{} : walked.error();
}

Result<unsigned> kill_by_walk(const Group& group) {
  return signal_tree(group, SIGKILL, 0, kPasses);
}

Result<unsigned> signal_all(const Group& group, int number, pid_t except) {
  return signal_tree(group, number, except, 1);
}

Result<bool> signal_member(const Group& group, pid_t pid, int number) {
  const auto path = path_of(group);
  if (!path && is_gone(group)) return false;
  if (!path) return path.error();
  const auto sent = signal_below(*path, pid, number);
  if (!sent && sent.error().code == ESRCH) return false;
  return sent;
}

Result<void> move_into(const Group& group, pid_t pid) {
  return base::write_at(group.fd(), "cgroup.procs", fmt::format("{}", pid));
}

Result<void> set_frozen(const Group& group, bool frozen) {
  const auto written = write_freeze(group.fd(), frozen);
  if (written || (cgroup::is_gone(written.error()) && is_gone(group))) return {};
  return about(group, written.error());
}

Result<void> thaw_tree(const Group& group) {
  return each_group(group, [](const Group& sub, const std::string&) -> Result<void> {
    const auto text = base::read_at(sub.fd(), "cgroup.freeze");
    if (text && base::trimmed(*text) == "0") return {};  // a read takes no global lock
    return set_frozen(sub, false);
  });
}

Result<Freeze> Freeze::begin(const Group& group) {
  // First what may fail, so that nothing is frozen without its guard.
  auto directory = base::open_at(group.fd(), ".", O_RDONLY | O_DIRECTORY);
  if (!directory) return about(group, directory.error());
  if (auto frozen = set_frozen(group, true); !frozen) return frozen.error();
  return Freeze(std::move(*directory));
}

Freeze::Freeze(Freeze&& other) noexcept : directory_(std::move(other.directory_)) {}

Freeze::~Freeze() {
  if (directory_) (void)write_freeze(directory_.get(), false);  // fails only where it is gone
}

Result<bool> wait_populated(const Group& group, bool populated, std::chrono::milliseconds timeout) {
  return wait_for(group, &Events::populated, populated, timeout);
}

Result<bool> wait_frozen(const Group& group, bool frozen, std::chrono::milliseconds timeout) {
  return wait_for(group, &Events::frozen, frozen, timeout);
}

}  // namespace corral::cgroup
