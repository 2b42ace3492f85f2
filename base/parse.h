#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace corral::base {

// The whole of `text` as a number in `base`; nullopt for anything else: empty, signs that the type
// cannot hold, trailing bytes, out of range. White space is not skipped.
template <std::integral T>
std::optional<T> number(std::string_view text, int base = 10) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// The text without white space (space, tab, newline, carriage return) at both ends.
std::string_view trimmed(std::string_view text);

// The parts of `text` between separators; empty parts are left out.
std::vector<std::string_view> split(std::string_view text, char separator);
// The parts are views of the text, which has to live on.
template <std::same_as<std::string> T>
std::vector<std::string_view> split(T&& text, char separator) = delete;

// The value of `key` in a flat keyed file (`key value` a line: cgroup.events, cpu.stat, …; kernel
// Documentation/admin-guide/cgroup-v2.rst). nullopt where the key is absent or its value no number.
std::optional<uint64_t> keyed(std::string_view text, std::string_view key);

}  // namespace corral::base
