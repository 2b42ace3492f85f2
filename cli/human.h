#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/span.h"

namespace corral::cli {

using std::chrono::microseconds;

using base::parse_span;

// "850us", "12ms", "1.2s", "3min 5s", "2h 10min", "4d 3h": two figures at most.
std::string span_text(microseconds span);

// Bytes in powers of 1024: "512B", "1.2M", "389M", "4.0G".
std::string bytes_text(uint64_t bytes);

// A point in time in the local zone: "Sun 2025-11-30 15:20:01 UTC"; "-" for 0. Microseconds since
// 1970.
std::string time_text(uint64_t realtime_usec);

// "1 process", "6 processes": `one` and its plural.
std::string count_text(uint64_t count, std::string_view one, std::string_view many);

// "SIGTERM" for 15; "signal 99" where it has no name.
std::string signal_text(int number);
// "TERM", "SIGTERM", "sigterm" or "15"; nullopt for what is no signal.
std::optional<int> parse_signal(std::string_view text);

}  // namespace corral::cli
