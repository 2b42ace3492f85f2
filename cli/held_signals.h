#pragma once

#include <sys/signalfd.h>

#include <csignal>
#include <optional>

#include "base/result.h"
#include "base/unique_fd.h"

namespace corral::cli {

// Every signal that can be, held back from this process and to be read instead, while its caller's
// dispositions and mask are kept for whoever is executed in its place. Held, not caught: a handler
// or a disposition of ours would show in what we execute (execve(2) keeps SIG_IGN), and a signal
// that its caller ignores is queued only where it is blocked.
class HeldSignals {
 public:
  // Holds at once. SIGCHLD gets its default disposition: ignored, children would leave no status.
  static Result<HeldSignals> begin();
  HeldSignals(HeldSignals&&) noexcept = default;
  HeldSignals& operator=(HeldSignals&&) = delete;
  // Leaves them held: what is still to come must not cut a way out short.
  ~HeldSignals() = default;

  // Readable while next() has one.
  int fd() const { return fd_.get(); }
  std::optional<signalfd_siginfo> next() const;

  // Back to the caller's mask, until hold(): signals do to us what they would have done to it.
  void lift() const;
  void hold() const;
  // As hold(), but lets the terminal stop us (SIGTSTP, SIGTTIN). SIGTTOU stays held: writing to a
  // terminal must not stop us (termios(3), TOSTOP).
  void hold_all_but_stops() const;
  // All as the caller had it. Async-signal-safe, for a child that is about to execute.
  void restore() const;

 private:
  HeldSignals() = default;
  UniqueFd fd_;
  sigset_t callers_{};
  struct sigaction callers_child_ {};
};

// Stops this process by `number` (SIGSTOP, or SIGTSTP, SIGTTIN, SIGTTOU, held by now) until it is
// continued, so that whoever waits for it sees that stop (waitpid(2), WUNTRACED). Returns at once
// where the kernel does not stop it: in an orphaned process group.
void stop_by(int number);

// Kills this process by `number`, without a core file of its own. Returns where it cannot be killed
// so, as PID 1 of a pid namespace.
void die_by(int number);

}  // namespace corral::cli
