#include "cli/printable.h"

#include <wchar.h>

#include "base/escape.h"

namespace corral::cli {
namespace {

// Takes one code point off the front of `text`, which is valid UTF-8.
struct Character {
  std::string_view bytes;
  size_t columns = 1;
};
Character next_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  const std::string_view bytes = text.substr(0, length);
  auto point = static_cast<wchar_t>(length == 1 ? lead : lead & (0xffU >> (length + 1)));
  for (const char byte : bytes.substr(1))
    point = (point << 6) | (static_cast<unsigned char>(byte) & 0x3f);
  const int width = ::wcwidth(point);
  return {bytes, width < 0 ? 1 : static_cast<size_t>(width)};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (;;) {
    const size_t slash = text.find('\\');
    out += base::escape(text.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    out += '\\';
    text.remove_prefix(slash + 1);
  }
}

size_t columns(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const Character character = next_character(text);
    width += character.columns;
    text.remove_prefix(character.bytes.size());
  }
  return width;
}

std::string fitted(std::string_view text, size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string out;
  for (size_t used = 0; !text.empty();) {
    const Character character = next_character(text);
    used += character.columns;
    if (used > width - 1) break;
    out += character.bytes;
    text.remove_prefix(character.bytes.size());
  }
  return out + "…";
}

std::string command_text(const std::vector<std::string>& argv) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  std::string out;
  for (const std::string& argument : argv) {
    if (!out.empty()) out += ' ';
    const std::string text = printable(argument);
    if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
      out += text;
      continue;
    }
    out += '\'';
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

}  // namespace corral::cli
