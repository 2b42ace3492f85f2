#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace corral::base {

// A time span as in systemd.time(7): "200ms", "5s", "1min 30s", "1.5h"; a bare number is seconds.
// nullopt for anything else: empty, negative, an unknown unit, "infinity", past what microseconds
// hold.
std::optional<std::chrono::microseconds> parse_span(std::string_view text);

// The span to the microsecond, which parse_span() reads as the same: "500ms", "1min 30s", "7d",
// "0". Negative ones are 0.
std::string exact_span(std::chrono::microseconds span);

}  // namespace corral::base
