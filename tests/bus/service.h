#pragma once

#include <systemd/sd-event.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "bus/fake_calls.h"
#include "dbus/server.h"

namespace corral::bus {

// A real Server over FakeCalls on a real loop, in a thread of its own.
class Service {
 public:
  // Returns when it has its name; throws where it cannot.
  explicit Service(const std::string& address);
  ~Service();

  // Runs `body` on the loop and waits for it; throws what it throws. All of `calls`, `server` and
  // `statuses` is touched there only, but for setting hooks before the first call.
  void on_loop(std::function<void()> body);
  dbus::Server& server() { return *server_; }
  // Destroys the server, as a service that stops.
  void stop_server();
  int lost() const { return lost_; }
  pid_t thread_id() const { return thread_id_; }
  clockid_t cpu_clock();

  FakeCalls calls;
  std::vector<std::unique_ptr<run::Status>> statuses;

 private:
  void run(const std::string& address, std::promise<void>& ready);
  void run_tasks();

  UniqueFd wake_;
  std::mutex mutex_;
  std::vector<std::packaged_task<void()>> tasks_;
  sd_event* loop_ = nullptr;
  std::unique_ptr<dbus::Server> server_;
  std::atomic<int> lost_ = 0;
  std::atomic<pid_t> thread_id_ = 0;
  std::thread thread_;
};

}  // namespace corral::bus
