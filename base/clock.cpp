#include "base/clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

#include "base/file.h"
#include "base/parse.h"

namespace corral::base {
namespace {

uint64_t usec(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1'000;
}

}  // namespace

Moment Moment::now() {
  return {usec(CLOCK_REALTIME), usec(CLOCK_MONOTONIC)};
}

std::chrono::microseconds between(const Moment& earlier, const Moment& later) {
  if (later.monotonic_usec <= earlier.monotonic_usec) return std::chrono::microseconds{0};
  return std::chrono::microseconds{later.monotonic_usec - earlier.monotonic_usec};
}

Result<std::string> boot_id() {
  auto text = read_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 128);
  if (!text) return text;
  std::string id(trimmed(*text));
  std::erase(id, '-');
  return id;
}

std::string random_hex() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    throw std::system_error(errno, std::generic_category(), "getrandom");
  std::string hex;
  for (const unsigned char byte : bytes) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace corral::base
