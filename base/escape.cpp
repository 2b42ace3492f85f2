#include "base/escape.h"

#include <fmt/format.h>

#include <cstdint>

namespace corral::base {
namespace {

struct Sequence {
  size_t length = 0;  // 0: not valid UTF-8
  uint32_t point = 0;
};

// U+FDD0 to U+FDEF and the last two of each plane. The D-Bus specification lets them pass, sd-bus
// does not (EINVAL on writing, EBADMSG on reading).
bool is_noncharacter(uint32_t point) {
  return (point >= 0xfdd0 && point <= 0xfdef) || (point & 0xfffe) == 0xfffe;
}

// The UTF-8 sequence at the start of `text` (RFC 3629: no overlong form, no surrogate, at most
// U+10FFFF), and no noncharacter.
Sequence first_sequence(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length == 0 || lead > 0xf4 || text.size() < length) return {};
  uint32_t point = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    point = (point << 6) | (byte & 0x3fU);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < kSmallest[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
    return {};
  if (is_noncharacter(point)) return {};
  return {length, point};
}

bool is_control(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

}  // namespace

std::string escape(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Sequence sequence = first_sequence(bytes);
    const size_t length = sequence.length == 0 ? 1 : sequence.length;
    const std::string_view part = bytes.substr(0, length);
    if (sequence.length != 0 && !is_control(sequence.point) && sequence.point != '\\') {
      out += part;
    } else {
      for (const char byte : part)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    bytes.remove_prefix(length);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Sequence sequence = first_sequence(text);
    if (sequence.length == 0 || sequence.point == 0) return false;
    text.remove_prefix(sequence.length);
  }
  return true;
}

}  // namespace corral::base
