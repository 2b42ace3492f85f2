#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "cgroup/group.h"

namespace corral::cgroup {

enum class Removed { yes, busy, gone };

// One try at removing the cgroup tree `name` below `parent`, depth first. Directories only: a
// cgroup holds no files of ours. busy: something still lives in it or the kernel is not done (EBUSY
// for a moment after populated 0). Never touches a directory whose inode is not `id`. May block in
// rmdir(2).
Result<Removed> remove_tree(int parent, const std::string& name, uint64_t id);

// Removes cgroup trees on a thread of its own, since rmdir(2) can block. Tries again with growing
// pauses until the bound is over, then gives up.
class Janitor {
 public:
  struct Outcome {
    std::string name;
    Removed removed = Removed::busy;
    std::string error;  // "" unless the last try failed otherwise
  };

  explicit Janitor(std::chrono::microseconds bound);
  // Finishes what is queued (each within its bound), then joins.
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  // `parent` is a directory fd that outlives the janitor: what is to be removed needs no fd of its
  // own. Callable from one thread.
  void remove(int parent, std::string name, uint64_t id);
  // Readable (an eventfd) while there are outcomes to take.
  int fd() const { return wake_.get(); }
  std::vector<Outcome> take();

 private:
  struct Job {
    int parent = -1;
    std::string name;
    uint64_t id = 0;
    std::chrono::milliseconds pause{0};  // before the next try
    std::chrono::steady_clock::time_point deadline, next_try;
  };
  void work();
  std::optional<Job> next_job();
  void finish(const Job& job, const Result<Removed>& removed);

  const std::chrono::microseconds bound_;

  UniqueFd wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  std::vector<Outcome> outcomes_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace corral::cgroup
