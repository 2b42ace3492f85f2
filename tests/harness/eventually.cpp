#include "harness/eventually.h"

#include <thread>

namespace corral::harness {

bool eventually(std::chrono::milliseconds deadline, const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return holds();
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

}  // namespace corral::harness
