#include "cli/human.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/parse.h"

namespace corral::cli {
namespace {

struct Unit {
  std::string_view name;
  double usec;
};

constexpr double kSecond = 1e6, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr std::array kUnits = {
    Unit{"us", 1},           Unit{"usec", 1},          Unit{"ms", 1e3},
    Unit{"msec", 1e3},       Unit{"s", kSecond},       Unit{"sec", kSecond},
    Unit{"second", kSecond}, Unit{"seconds", kSecond}, Unit{"m", kMinute},
    Unit{"min", kMinute},    Unit{"minute", kMinute},  Unit{"minutes", kMinute},
    Unit{"h", kHour},        Unit{"hr", kHour},        Unit{"hour", kHour},
    Unit{"hours", kHour},    Unit{"d", kDay},          Unit{"day", kDay},
    Unit{"days", kDay},      Unit{"w", 7 * kDay},      Unit{"week", 7 * kDay},
    Unit{"weeks", 7 * kDay}, Unit{"", kSecond},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the longest start of `text` whose characters `belongs`.
template <typename F>
std::string_view take(std::string_view& text, F belongs) {
  const auto end = std::find_if_not(text.begin(), text.end(), belongs);
  const auto length = static_cast<size_t>(end - text.begin());
  const std::string_view head = text.substr(0, length);
  text.remove_prefix(length);
  return head;
}

// "12" or "1.5"; not ".5", "5." or an exponent.
std::optional<double> take_number(std::string_view& text) {
  const std::string_view whole = take(text, is_digit);
  if (whole.empty() || whole.size() > 15) return std::nullopt;
  double value = static_cast<double>(*base::number<uint64_t>(whole));
  if (!text.starts_with('.')) return value;
  text.remove_prefix(1);
  const std::string_view part = take(text, is_digit);
  if (part.empty() || part.size() > 15) return std::nullopt;
  return value + static_cast<double>(*base::number<uint64_t>(part)) /
                     std::pow(10.0, static_cast<double>(part.size()));
}

void skip_blanks(std::string_view& text) {
  (void)take(text, [](char c) { return c == ' ' || c == '\t'; });  // white space says nothing
}

}  // namespace

std::optional<microseconds> parse_span(std::string_view text) {
  double total = 0;
  skip_blanks(text);
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const auto value = take_number(text);
    if (!value) return std::nullopt;
    skip_blanks(text);
    const std::string_view name = take(text, [](char c) { return c >= 'a' && c <= 'z'; });
    const auto* unit =
        std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == name; });
    if (unit == kUnits.end()) return std::nullopt;
    total += *value * unit->usec;
    skip_blanks(text);
  }
  constexpr double kMost = 9e18;  // below 2^63
  if (total > kMost) return std::nullopt;
  return microseconds{std::llround(total)};
}

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
