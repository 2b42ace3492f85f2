#include "daemon/loop.h"

#include <sys/epoll.h>

#include <csignal>
#include <exception>
#include <system_error>

#include "base/log.h"

namespace corral::daemon {

struct Source::Hold {
  sd_event_source* source = nullptr;
  base::Callback<void()> callback;
  bool running = false;
  bool released = false;  // inside its own callback: freed when that returns
};

namespace {

constexpr uint64_t kAccuracyUsec = 500;  // 0 would mean sd-event's default of 250 ms

void require(int result, const char* what) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), what);
}

}  // namespace

void Source::Release::operator()(Hold* hold) const {
  if (hold->source != nullptr) sd_event_source_disable_unref(hold->source);
  hold->source = nullptr;
  hold->released = true;
  if (!hold->running) delete hold;
}

void fenced(base::Callback<void()>& callback) {
  try {
    callback();
  } catch (const std::exception& error) {
    log(Level::error, "a callback failed: {}", error.what());
  }
}

namespace {

template <typename Hold>
int call(Hold* hold) {
  hold->running = true;
  fenced(hold->callback);
  hold->running = false;
  if (hold->released) delete hold;
  return 0;
}

template <typename Hold>
int on_io(sd_event_source*, int, uint32_t, void* data) {
  return call(static_cast<Hold*>(data));
}
template <typename Hold>
int on_time(sd_event_source*, uint64_t, void* data) {
  return call(static_cast<Hold*>(data));
}
template <typename Hold>
int on_defer(sd_event_source*, void* data) {
  return call(static_cast<Hold*>(data));
}
template <typename Hold>
int on_signalfd(sd_event_source*, const signalfd_siginfo*, void* data) {
  return call(static_cast<Hold*>(data));
}

}  // namespace

Loop::Loop() {
  require(sd_event_new(&event_), "sd_event_new");
}

Loop::~Loop() {
  sd_event_unref(event_);
}

Source Loop::on_readable(int fd, base::Callback<void()> callback) {
  return on_events(fd, EPOLLIN, SD_EVENT_ON, std::move(callback));
}

Source Loop::on_hangup(int fd, base::Callback<void()> callback) {
  return on_events(fd, 0, SD_EVENT_ONESHOT,
                   std::move(callback));  // epoll(7) reports EPOLLHUP unasked
}

Source Loop::on_events(int fd, uint32_t events, int enabled, base::Callback<void()> callback) {
  Source source;
  source.hold_.reset(new Source::Hold{nullptr, std::move(callback)});
  require(sd_event_add_io(event_, &source.hold_->source, fd, events, on_io<Source::Hold>,
                          source.hold_.get()),
          "sd_event_add_io");
  require(sd_event_source_set_enabled(source.hold_->source, enabled),
          "sd_event_source_set_enabled");
  return source;
}

Source Loop::after(std::chrono::microseconds delay, base::Callback<void()> callback) {
  if (delay.count() <= 0) return soon(std::move(callback));
  Source source;
  source.hold_.reset(new Source::Hold{nullptr, std::move(callback)});
  require(sd_event_add_time_relative(event_, &source.hold_->source, CLOCK_MONOTONIC,
                                     static_cast<uint64_t>(delay.count()), kAccuracyUsec,
                                     on_time<Source::Hold>, source.hold_.get()),
          "sd_event_add_time_relative");
  return source;
}

Source Loop::soon(base::Callback<void()> callback) {
  Source source;
  source.hold_.reset(new Source::Hold{nullptr, std::move(callback)});
  require(
      sd_event_add_defer(event_, &source.hold_->source, on_defer<Source::Hold>, source.hold_.get()),
      "sd_event_add_defer");
  return source;
}

Source Loop::on_signal(int number, base::Callback<void()> callback) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  require(-pthread_sigmask(SIG_BLOCK, &set, nullptr), "pthread_sigmask");
  Source source;
  source.hold_.reset(new Source::Hold{nullptr, std::move(callback)});
  require(sd_event_add_signal(event_, &source.hold_->source, number, on_signalfd<Source::Hold>,
                              source.hold_.get()),
          "sd_event_add_signal");
  return source;
}

int Loop::run() {
  return sd_event_loop(event_);
}

void Loop::exit(int code) {
  sd_event_exit(event_, code);
}

}  // namespace corral::daemon
