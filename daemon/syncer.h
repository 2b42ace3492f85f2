#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/unique_fd.h"

namespace corral::daemon {

// Writes a file system's changes to the disk soon after they were made (syncfs(2)), many at once,
// on a thread of its own because it can block. Idle while nothing changes.
class Syncer {
 public:
  Syncer(UniqueFd directory, std::chrono::microseconds delay);
  // Syncs what is still due.
  ~Syncer();
  Syncer(const Syncer&) = delete;
  Syncer& operator=(const Syncer&) = delete;

  // Something changed; on the disk within the delay and the time of one syncfs(2).
  void changed();

 private:
  void work();
  UniqueFd directory_;
  std::chrono::microseconds delay_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool dirty_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace corral::daemon
