#pragma once

#include <systemd/sd-event.h>

#include <cstdint>
#include <memory>

#include "base/callback.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace sdbus {
class IConnection;
}

namespace corral::dbus {

struct ReleaseSource {
  void operator()(sd_event_source* source) const { sd_event_source_disable_unref(source); }
};
using EventSource = std::unique_ptr<sd_event_source, ReleaseSource>;

// Drives a connection from an sd_event loop, which sdbus-c++ 1.2 cannot do by itself: what to poll
// for and until when is asked anew before each poll (sd_event_source_set_prepare(3)), since any
// call may have queued something. An idle connection costs no system call.
class BusLoop {
 public:
  // Both must outlive it. `lost` is called once, from the loop, when the connection is gone; it may
  // destroy the BusLoop.
  static Result<std::unique_ptr<BusLoop>> attach(sdbus::IConnection& connection, sd_event* loop,
                                                 base::Callback<void()> lost);
  bool is_lost() const { return lost_; }

 private:
  BusLoop(sdbus::IConnection& connection, base::Callback<void()> lost);
  Result<void> add_sources(sd_event* loop);
  void prepare();
  void process();
  bool is_open() const;
  void lose();

  static int on_io(sd_event_source* source, int fd, uint32_t events, void* self);
  static int on_time(sd_event_source* source, uint64_t usec, void* self);
  static int on_prepare(sd_event_source* source, void* self);
  static int on_lost(sd_event_source* source, void* self);

  sdbus::IConnection& connection_;
  base::Callback<void()> tell_lost_;
  UniqueFd
      fd_;  // a duplicate: the connection closes its own when it likes, and epoll goes by number
  EventSource io_, timer_, farewell_;
  unsigned failures_ = 0;
  bool lost_ = false;
};

}  // namespace corral::dbus
