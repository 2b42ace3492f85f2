#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/eventually.h"

namespace corral::harness {

// One of the manager's signals, as it came.
struct Signal {
  std::string name;  // RunStarted, DriverExited, LeaksFound, RunEnded
  std::string id;
  std::string invocation;
  std::string path;
  std::string text;    // DriverExited: exit; RunEnded: result
  std::string reason;  // RunEnded
  int64_t number = 0;  // DriverExited: status; LeaksFound: count
};

// Records the manager's signals from its construction on, on a connection of its own. It reads when
// it is asked: no thread.
class SignalRecorder {
 public:
  explicit SignalRecorder(const std::string& address);
  SignalRecorder(const SignalRecorder&) = delete;
  SignalRecorder& operator=(const SignalRecorder&) = delete;
  ~SignalRecorder();

  // All that came, in order.
  const std::vector<Signal>& seen();
  // Waits on the bus until one that came, now or before, is as wanted; false at the deadline.
  bool wait(const std::function<bool(const Signal&)>& wanted,
            std::chrono::milliseconds deadline = kDeadline);
  // Waits for the signal `name` of the run `id`.
  bool wait(const std::string& name, const std::string& id,
            std::chrono::milliseconds deadline = kDeadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::harness
