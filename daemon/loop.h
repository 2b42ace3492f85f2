#pragma once

#include <systemd/sd-event.h>

#include <chrono>
#include <cstdint>
#include <memory>

#include "base/callback.h"

namespace corral::daemon {

// A subscription of the loop; destroying it ends it. Safe inside its own callback.
class Source {
 public:
  Source() = default;
  Source(Source&&) noexcept = default;
  Source& operator=(Source&&) noexcept = default;
  ~Source() = default;

  explicit operator bool() const { return hold_ != nullptr; }
  void reset() { hold_.reset(); }

 private:
  friend class Loop;
  struct Hold;
  struct Release {
    void operator()(Hold* hold) const;
  };
  std::unique_ptr<Hold, Release> hold_;
};

// Calls it behind the fence of the loop: an exception is logged and goes no further.
void fenced(base::Callback<void()>& callback);

// The one event loop (sd-event(3)) on the one thread. Each callback runs behind a fence: an
// exception that leaves it is logged and costs that callback, not the loop.
class Loop {
 public:
  Loop();  // throws std::system_error: without a loop there is no service
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  sd_event* get() const { return event_; }

  // While the fd is readable (or hung up), level-triggered; the fd is borrowed and must outlive the
  // source.
  Source on_readable(int fd, base::Callback<void()> callback);
  // Once, when the fd says EPOLLHUP, and nothing else.
  Source on_hangup(int fd, base::Callback<void()> callback);
  // Once, when `delay` on CLOCK_MONOTONIC is over; at once (but not from inside this call) for 0
  // and less.
  Source after(std::chrono::microseconds delay, base::Callback<void()> callback);
  // Once, in the next turn of the loop.
  Source soon(base::Callback<void()> callback);
  // For a signal, which is blocked for the process from here on (signalfd(2)).
  Source on_signal(int number, base::Callback<void()> callback);

  // Turns until exit(); returns its code.
  int run();
  void exit(int code);

 private:
  Source on_events(int fd, uint32_t events, int enabled, base::Callback<void()> callback);
  sd_event* event_ = nullptr;
};

}  // namespace corral::daemon
