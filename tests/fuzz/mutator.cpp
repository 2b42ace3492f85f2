#include "mutator.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace corral::fuzz {
namespace {

constexpr size_t kMostBytes = 16384;  // so that copies of copies do not grow for ever
constexpr size_t kMostMutations = 6;

using std::string_view_literals::operator""sv;

// What parsers trip over.
constexpr std::array kTokens = {"0"sv,          "-1"sv,       "-0"sv,
                                "255"sv,        "256"sv,      "4294967295"sv,
                                "\0"sv,         "\n"sv,       " "sv,
                                "\\"sv,         "\\134"sv,    "\\u0000"sv,
                                "\xff"sv,       "\xc0\x80"sv, "\xed\xa0\x80"sv,
                                "\xe2\x82"sv,   "\xc2\x9b"sv, "\x1b[2J"sv,
                                "null"sv,       "true"sv,     "[]"sv,
                                "{}"sv,         "\"\""sv,     "18446744073709551616"sv,
                                "1e999"sv,      "1.5"sv,      "("sv,
                                ") "sv,         ":"sv,        "9223372036854775808"sv,
                                "max"sv,        " - "sv,      "/.."sv,
                                " (deleted)"sv, ","sv,        "4294967296"sv};

}  // namespace

size_t Mutator::below(size_t bound) {
  return bound == 0 ? 0 : random_() % bound;
}

std::string Mutator::random_bytes() {
  std::string bytes(below(64), '\0');
  for (char& byte : bytes) byte = static_cast<char>(below(256));
  return bytes;
}

void Mutator::mutate(std::string& text) {
  const size_t at = below(text.size() + 1);
  const size_t length = below(std::min<size_t>(text.size() - at, 32) + 1);
  switch (below(8)) {
    case 0:  // a bit
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
      break;
    case 1:  // a byte
      if (at < text.size()) text[at] = static_cast<char>(below(256));
      break;
    case 2:
      text.erase(at, length);
      break;
    case 3:
      text.insert(at, text.substr(at, length));
      break;
    case 4:
      text.resize(at);
      break;
    case 5:
      text.insert(at, kTokens[below(kTokens.size())]);
      break;
    case 6:
      text.replace(at, length, kTokens[below(kTokens.size())]);
      break;
    default: {  // the end of another
      const std::string& other = any_sample();
      text.replace(at, std::string::npos, other.substr(below(other.size() + 1)));
      break;
    }
  }
}

std::string Mutator::next() {
  if (below(16) == 0) return random_bytes();
  std::string text = any_sample();
  for (size_t n = 1 + below(1 + below(kMostMutations)); n > 0; --n) mutate(text);
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  return text;
}

}  // namespace corral::fuzz
