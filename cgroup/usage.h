#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "cgroup/group.h"

namespace corral::cgroup {

// What a cgroup and all below it used (cgroup-v2.rst). Absent where the controller or the file is.
struct Usage {
  std::optional<uint64_t> cpu_usec;     // cpu.stat usage_usec: there without the controller too
  std::optional<uint64_t> memory_peak;  // memory.peak, bytes (Linux 5.19)
  std::optional<uint64_t> oom_kills;    // memory.events oom_kill
  std::optional<uint64_t> pids_peak;    // pids.peak (Linux 6.1)
  std::optional<uint64_t> io_read_bytes, io_write_bytes;  // io.stat, summed over devices
};
// The bytes of io.stat, summed over devices; no line means that none was used. nullopt where a
// figure is no number.
struct IoBytes {
  uint64_t read = 0, write = 0;
};
std::optional<IoBytes> parse_io_stat(std::string_view text);

// Never fails: what cannot be read is absent.
Usage read_usage(const Group& group);

}  // namespace corral::cgroup
