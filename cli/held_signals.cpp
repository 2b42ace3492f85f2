#include "cli/held_signals.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

namespace corral::cli {
namespace {

sigset_t all_signals() {
  sigset_t all;
  sigfillset(&all);
  return all;
}

// With the default disposition and unblocked, it takes effect before this returns.
void take(int number) {
  struct sigaction ordinary {};
  ordinary.sa_handler = SIG_DFL;
  struct sigaction callers {};
  (void)sigaction(number, &ordinary, &callers);  // of SIGSTOP and SIGKILL: refused, not needed
  (void)kill(getpid(), number);
  sigset_t one, before;
  sigemptyset(&one);
  sigaddset(&one, number);
  (void)sigprocmask(SIG_UNBLOCK, &one, &before);
  (void)sigprocmask(SIG_SETMASK, &before, nullptr);
  (void)sigaction(number, &callers, nullptr);
}

}  // namespace

Result<HeldSignals> HeldSignals::begin() {
  HeldSignals held;
  const sigset_t all = all_signals();
  held.fd_ = UniqueFd(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!held.fd_) return failed(errno, "make a signalfd");
  struct sigaction ordinary {};
  ordinary.sa_handler = SIG_DFL;
  if (sigaction(SIGCHLD, &ordinary, &held.callers_child_) != 0 ||
      sigprocmask(SIG_SETMASK, &all, &held.callers_) != 0)
    return failed(errno, "block signals");
  return held;
}

std::optional<signalfd_siginfo> HeldSignals::next() const {
  signalfd_siginfo info{};
  if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return info;
}

void HeldSignals::lift() const {
  (void)sigprocmask(SIG_SETMASK, &callers_, nullptr);
}

void HeldSignals::hold() const {
  const sigset_t all = all_signals();
  (void)sigprocmask(SIG_SETMASK, &all, nullptr);
}

void HeldSignals::hold_all_but_stops() const {
  sigset_t held = all_signals();
  sigdelset(&held, SIGTSTP);
  sigdelset(&held, SIGTTIN);
  (void)sigprocmask(SIG_SETMASK, &held, nullptr);
}

void HeldSignals::restore() const {
  (void)sigaction(SIGCHLD, &callers_child_, nullptr);
  (void)sigprocmask(SIG_SETMASK, &callers_, nullptr);
}

void stop_by(int number) {
  take(number);
}

void die_by(int number) {
  const rlimit none{0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  take(number);
}

}  // namespace corral::cli
