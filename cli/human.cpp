#include "cli/human.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/parse.h"

namespace corral::cli {

std::string span_text(microseconds span) {
  const int64_t usec = std::max<int64_t>(span.count(), 0);
  const int64_t seconds = usec / 1'000'000;
  if (usec < 1'000) return fmt::format("{}us", usec);
  if (seconds < 1) return fmt::format("{}ms", usec / 1'000);
  if (seconds < 60) return fmt::format("{}.{}s", seconds, usec / 100'000 % 10);
  if (seconds < 3'600) return fmt::format("{}min {}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h {}min", seconds / 3'600, seconds / 60 % 60);
  return fmt::format("{}d {}h", seconds / 86'400, seconds / 3'600 % 24);
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{}B", bytes);
  constexpr std::string_view kPrefixes = "KMGTPE";
  auto value = static_cast<double>(bytes) / 1024;
  size_t prefix = 0;
  // 1023.6K would print as 1024K.
  for (; value >= 1023.5 && prefix + 1 < kPrefixes.size(); ++prefix) value /= 1024;
  return value < 9.95 ? fmt::format("{:.1f}{}", value, kPrefixes[prefix])
                      : fmt::format("{:.0f}{}", value, kPrefixes[prefix]);
}

std::string time_text(uint64_t realtime_usec) {
  if (realtime_usec == 0) return "-";
  const auto seconds = static_cast<time_t>(realtime_usec / 1'000'000);
  struct tm local {};
  if (localtime_r(&seconds, &local) == nullptr) return "-";
  std::array<char, 64> text{};
  return strftime(text.data(), text.size(), "%a %Y-%m-%d %H:%M:%S %Z", &local) == 0 ? "-"
                                                                                    : text.data();
}

std::string count_text(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

std::optional<int> parse_signal(std::string_view text) {
  if (const auto number = base::number<int>(text))
    return *number >= 1 && *number < NSIG ? number : std::nullopt;
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string_view bare = std::string_view(name).substr(name.starts_with("SIG") ? 3 : 0);
  for (int number = 1; number < NSIG; ++number)
    if (const char* known = sigabbrev_np(number); known != nullptr && bare == known) return number;
  return std::nullopt;
}

}  // namespace corral::cli
