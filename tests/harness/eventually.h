#pragma once

#include <chrono>
#include <functional>

namespace corral::harness {

// How long a test waits for what must come: far more than it takes, so that only a bug gets there.
inline constexpr std::chrono::milliseconds kDeadline = std::chrono::seconds{20};

// Asks `holds` again and again, with pauses of a millisecond, until it says true; false at the
// deadline. For what the kernel gives no event for: all else waits on an fd.
bool eventually(std::chrono::milliseconds deadline, const std::function<bool()>& holds);
inline bool eventually(const std::function<bool()>& holds) {
  return eventually(kDeadline, holds);
}

}  // namespace corral::harness
