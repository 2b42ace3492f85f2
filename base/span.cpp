#include "base/span.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "base/parse.h"

namespace corral::base {
namespace {

using std::chrono::microseconds;

struct Unit {
  std::string_view name;
  double usec;
};

constexpr double kSecond = 1e6, kMinute = 60 * kSecond, kHour = 60 * kMinute, kDay = 24 * kHour;
constexpr double kMonth = 30.4375 * kDay, kYear = 365.25 * kDay;
constexpr std::array kUnits = {
    Unit{"us", 1},           Unit{"usec", 1},          Unit{"ms", 1e3},
    Unit{"msec", 1e3},       Unit{"s", kSecond},       Unit{"sec", kSecond},
    Unit{"second", kSecond}, Unit{"seconds", kSecond}, Unit{"m", kMinute},
    Unit{"min", kMinute},    Unit{"minute", kMinute},  Unit{"minutes", kMinute},
    Unit{"h", kHour},        Unit{"hr", kHour},        Unit{"hour", kHour},
    Unit{"hours", kHour},    Unit{"d", kDay},          Unit{"day", kDay},
    Unit{"days", kDay},      Unit{"w", 7 * kDay},      Unit{"week", 7 * kDay},
    Unit{"weeks", 7 * kDay}, Unit{"M", kMonth},        Unit{"month", kMonth},
    Unit{"months", kMonth},  Unit{"y", kYear},         Unit{"year", kYear},
    Unit{"years", kYear},    Unit{"", kSecond},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || c == 'M';
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
  double value = static_cast<double>(*number<uint64_t>(whole));
  if (!text.starts_with('.')) return value;
  text.remove_prefix(1);
  const std::string_view part = take(text, is_digit);
  if (part.empty() || part.size() > 15) return std::nullopt;
  return value + static_cast<double>(*number<uint64_t>(part)) /
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
    const std::string_view name = take(text, is_letter);
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

std::string exact_span(microseconds span) {
  struct Part {
    const char* name;
    int64_t usec;
  };
  constexpr std::array kParts = {Part{"d", 86'400'000'000}, Part{"h", 3'600'000'000},
                                 Part{"min", 60'000'000},   Part{"s", 1'000'000},
                                 Part{"ms", 1'000},         Part{"us", 1}};
  int64_t left = std::max<int64_t>(span.count(), 0);
  if (left == 0) return "0";
  std::string text;
  for (const Part& part : kParts) {
    if (left < part.usec) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", left / part.usec, part.name);
    left %= part.usec;
  }
  return text;
}

}  // namespace corral::base
