#include "dbus/event_loop.h"

#include <fcntl.h>
#include <sdbus-c++/IConnection.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "base/log.h"
#include "dbus/guard.h"

namespace corral::dbus {
namespace {

constexpr unsigned kBurst = 32;         // messages in a row before others get their turn
constexpr unsigned kMostFailures = 16;  // in a row: the connection is taken for lost

}  // namespace

Result<std::unique_ptr<BusLoop>> BusLoop::attach(sdbus::IConnection& connection, sd_event* loop,
                                                 base::Callback<void()> lost) {
  std::unique_ptr<BusLoop> bus_loop{new BusLoop(connection, std::move(lost))};
  if (auto added = bus_loop->add_sources(loop); !added) return added.error();
  return bus_loop;
}

BusLoop::BusLoop(sdbus::IConnection& connection, base::Callback<void()> lost)
    : connection_(connection), tell_lost_(std::move(lost)) {}

Result<void> BusLoop::add_sources(sd_event* loop) {
  fd_ = UniqueFd{fcntl(connection_.getEventLoopPollData().fd, F_DUPFD_CLOEXEC, 3)};
  if (!fd_) return failed(errno, "duplicate the fd of the bus connection");
  sd_event_source* source = nullptr;
  int error = sd_event_add_io(loop, &source, fd_.get(), 0, on_io, this);
  if (error < 0) return failed(-error, "watch the bus connection");
  io_.reset(std::exchange(source, nullptr));
  error = sd_event_source_set_prepare(io_.get(), on_prepare);
  if (error < 0) return failed(-error, "watch the bus connection");

  error = sd_event_add_time(loop, &source, CLOCK_MONOTONIC, 0, 1, on_time, this);
  if (error < 0) return failed(-error, "make a timer for the bus connection");
  timer_.reset(std::exchange(source, nullptr));
  sd_event_source_set_enabled(timer_.get(), SD_EVENT_OFF);

  error = sd_event_add_defer(loop, &source, on_lost, this);
  if (error < 0) return failed(-error, "watch for the loss of the bus connection");
  farewell_.reset(source);
  sd_event_source_set_enabled(farewell_.get(), SD_EVENT_OFF);
  return {};
}

void BusLoop::prepare() {
  try {
    const auto wanted = connection_.getEventLoopPollData();
    sd_event_source_set_io_events(io_.get(), static_cast<uint32_t>(wanted.events));
    if (wanted.timeout_usec == UINT64_MAX) {
      sd_event_source_set_enabled(timer_.get(), SD_EVENT_OFF);
    } else {
      sd_event_source_set_time(timer_.get(), wanted.timeout_usec);
      sd_event_source_set_enabled(timer_.get(), SD_EVENT_ONESHOT);
    }
  } catch (const std::exception&) {  // a closed connection has nothing to poll
    lose();
  }
}

void BusLoop::process() {
  for (unsigned i = 0; i < kBurst && !lost_; ++i) {
    try {
      const bool more = connection_.processPendingRequest();
      failures_ = 0;
      if (!more) return;
    } catch (...) {
      if (!is_open()) return lose();
      // sd-bus has passed over the message that failed.
      log(Level::error, "{}", current_error("process a bus message").getMessage());
      if (++failures_ >= kMostFailures) lose();
      return;
    }
  }
}

bool BusLoop::is_open() const {
  try {
    (void)connection_.getEventLoopPollData();  // fails with ENOTCONN once closed
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void BusLoop::lose() {
  if (std::exchange(lost_, true)) return;
  sd_event_source_set_enabled(io_.get(), SD_EVENT_OFF);
  sd_event_source_set_enabled(timer_.get(), SD_EVENT_OFF);
  sd_event_source_set_enabled(farewell_.get(), SD_EVENT_ONESHOT);
}

int BusLoop::on_io(sd_event_source*, int, uint32_t, void* self) {
  static_cast<BusLoop*>(self)->process();
  return 0;
}

int BusLoop::on_time(sd_event_source*, uint64_t, void* self) {
  static_cast<BusLoop*>(self)->process();
  return 0;
}

int BusLoop::on_prepare(sd_event_source*, void* self) {
  static_cast<BusLoop*>(self)->prepare();
  return 0;
}

int BusLoop::on_lost(sd_event_source*, void* self) {
  auto* loop = static_cast<BusLoop*>(self);
  loop->io_.reset();
  loop->fd_.reset();
  // The callback may destroy us, and with us the callback.
  auto lost = std::move(loop->tell_lost_);
  if (lost) lost();
  return 0;
}

}  // namespace corral::dbus
