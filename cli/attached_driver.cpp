#include "cli/attached_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/parse.h"

namespace corral::cli {
namespace {

// A signal to this process alone and the same one to the group within this time are one: timeout(1)
// sends it to its child and then to the group, and merged they would be had we been the driver
// (signal(7): standard signals do not queue). They come within microseconds; the rest is for a
// machine that is too busy to run us.
constexpr std::chrono::milliseconds kMerge{100};

// __WALL: a child whose exit signal is not SIGCHLD is a child too.
constexpr int kExits = WEXITED | WNOHANG | __WALL;

std::optional<siginfo_t> look(idtype_t type, id_t id, int options) {
  siginfo_t info{};
  if (waitid(type, id, &info, options) != 0 || info.si_pid == 0) return std::nullopt;
  return info;
}

DriverEnd end_of(const siginfo_t& info) {
  const auto exit = info.si_code == CLD_EXITED   ? run::DriverExit::exited
                    : info.si_code == CLD_DUMPED ? run::DriverExit::dumped
                                                 : run::DriverExit::killed;
  return {exit, info.si_status, base::Moment::now()};
}

// Ours are close-on-exec; the others came from our caller, and the driver has them.
void close_inherited() {
  std::vector<int> inherited;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const auto fd = base::number<int>(entry.path().filename().native());
    if (fd && *fd > STDERR_FILENO && (fcntl(*fd, F_GETFD) & FD_CLOEXEC) == 0)
      inherited.push_back(*fd);
  }
  for (const int fd : inherited) (void)close(fd);
}

void release_streams() {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO})
    if (null) (void)dup3(null.get(), fd, O_CLOEXEC);
  close_inherited();
}

}  // namespace

Result<AttachedDriver> AttachedDriver::park(const cgroup::Group* work, const ChildPlan& plan,
                                            const HeldSignals& signals) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return failed(errno, "become a subreaper");
  // The witness goes first: it must hold no end of the driver's channel.
  auto witness = GroupWitness::start();
  if (!witness) return witness.error();
  auto child = ParkedChild::bear(work, plan, signals);
  if (!child) return child.error();
  return AttachedDriver(std::move(*witness), std::move(*child), signals);
}

void AttachedDriver::release() {
  // What had its effect on us while signals were lifted must not count for a later one.
  witness_->forget();
  signals_->hold();
  child_.release();
  release_streams();
}

DriverEnd AttachedDriver::wait() {
  while (!end_) {
    pollfd ready[] = {{signals_->fd(), POLLIN, 0},
                      {hears_child_ ? child_.channel() : -1, POLLIN, 0}};
    (void)poll(ready, 2, -1);  // interrupted or not: looks at all there is
    if (ready[1].revents != 0) {
      failure_ = child_.failure();
      hears_child_ = false;
    }
    take_signals();
  }
  if (hears_child_) failure_ = child_.failure();
  witness_.reset();
  return *end_;
}

void AttachedDriver::take_signals() {
  while (const auto info = end_ ? std::nullopt : signals_->next()) {
    if (info->ssi_signo == SIGCHLD)
      take_children();
    else
      pass_on(*info);
  }
}

void AttachedDriver::pass_on(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  const bool user = info.ssi_code <= 0;
  const pid_t sender = user ? static_cast<pid_t>(info.ssi_pid) : 0;
  if (sender == witness_->pid() || sender == getpid()) return;  // a write of ours raised SIGPIPE
  const auto now = Clock::now();                                // before the witness takes its time
  const bool whole_group = witness_->got(signal);
  auto& last = to_group_.at(static_cast<size_t>(signal));
  if (whole_group) {
    last = now;
  } else if (signal < SIGRTMIN && now - last < kMerge) {
    return;
  }
  const pid_t group = getpgid(pid());
  if (whole_group && group == getpgrp()) return;
  const pid_t target = whole_group && group == pid()     ? -group
                       : !whole_group && sender == pid() ? getppid()
                                                         : pid();
  if (target != 0) send(info, target);  // 0: our parent is in another pid namespace
}

// The driver is not reaped, so its number is its own. Fails where it runs with rights that we lack;
// whoever signals us could not have signalled it either.
void AttachedDriver::send(const signalfd_siginfo& info, pid_t target) const {
  const int signal = static_cast<int>(info.ssi_signo);
  if (info.ssi_code != SI_QUEUE || target < 0) return void(kill(target, signal));
  sigval value{};
  value.sival_ptr = reinterpret_cast<void*>(info.ssi_ptr);  // NOLINT(performance-no-int-to-ptr)
  (void)sigqueue(target, signal, value);
}

void AttachedDriver::take_children() {
  // The driver first, each time: its exit must not wait behind a storm of orphans.
  while (!take_driver()) {
    const auto other = look(P_ALL, 0, kExits | WNOWAIT);
    if (!other) return;
    if (other->si_pid != pid()) (void)look(P_PID, static_cast<id_t>(other->si_pid), kExits);
  }
}

// Whether it has exited. A stop is repeated here.
bool AttachedDriver::take_driver() {
  const auto id = static_cast<id_t>(pid());
  if (const auto exit = look(P_PID, id, kExits | WNOWAIT)) {
    end_ = end_of(*exit);
    return true;
  }
  const auto change = look(P_PID, id, WSTOPPED | WCONTINUED | WNOHANG | __WALL);
  if (change && change->si_code == CLD_STOPPED) stop_with_driver(change->si_status);
  return false;
}

void AttachedDriver::stop_with_driver(int signal) {
  // A shell as the driver has a group of its own, and on the terminal is that group. A job's `fg`
  // gives the terminal to ours.
  const UniqueFd terminal(open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  const bool had_terminal = terminal && tcgetpgrp(terminal.get()) == pid() && pid() != getpgrp();
  witness_->continue_with(pid());
  stop_by(signal);
  if (had_terminal && tcgetpgrp(terminal.get()) == getpgrp())
    (void)tcsetpgrp(terminal.get(), pid());
  // SIGCONT drops the stop signals that are pending here; to the witness none may have come.
  witness_->forget_stops();
}

void AttachedDriver::reap() {
  while (look(P_ALL, 0, kExits)) continue;
}

}  // namespace corral::cli
