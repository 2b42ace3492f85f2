#include "bus/service.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "dbus/event_loop.h"
#include "harness/eventually.h"
#include "harness/must.h"

namespace corral::bus {

using harness::kDeadline;
using harness::must;

Service::Service(const std::string& address) : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  std::promise<void> ready;
  thread_ = std::thread([&] { run(address, ready); });
  try {
    ready.get_future().get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

Service::~Service() {
  on_loop([this] { sd_event_exit(loop_, 0); });
  thread_.join();
}

void Service::run(const std::string& address, std::promise<void>& ready) {
  thread_id_ = gettid();
  sd_event_new(&loop_);
  sd_event_source* source = nullptr;
  const auto on_wake = [](sd_event_source*, int, uint32_t, void* self) {
    static_cast<Service*>(self)->run_tasks();
    return 0;
  };
  sd_event_add_io(loop_, &source, wake_.get(), EPOLLIN, on_wake, this);
  const dbus::EventSource owner(source);
  bool started = false;
  try {
    server_ = must(
        dbus::Server::open({dbus::BusKind::address, address}, loop_, calls, [this] { ++lost_; }));
    must(server_->request_name());
    started = true;
    ready.set_value();
  } catch (...) {
    ready.set_exception(std::current_exception());
  }
  if (started) sd_event_loop(loop_);
  server_.reset();
  sd_event_unref(loop_);
}

void Service::run_tasks() {
  eventfd_t count = 0;
  (void)eventfd_read(wake_.get(), &count);
  std::unique_lock lock(mutex_);
  auto tasks = std::exchange(tasks_, {});
  lock.unlock();
  for (auto& task : tasks) task();
}

void Service::on_loop(std::function<void()> body) {
  std::packaged_task<void()> task(std::move(body));
  auto done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  (void)eventfd_write(wake_.get(), 1);
  if (done.wait_for(kDeadline) != std::future_status::ready) {
    throw std::runtime_error("the loop does not turn");
  }
  done.get();
}

void Service::stop_server() {
  on_loop([this] { server_.reset(); });
}

clockid_t Service::cpu_clock() {
  clockid_t clock = CLOCK_MONOTONIC;
  if (pthread_getcpuclockid(thread_.native_handle(), &clock) != 0) {
    throw std::runtime_error("pthread_getcpuclockid failed");
  }
  return clock;
}

}  // namespace corral::bus
