#include "base/log.h"

#include <unistd.h>

namespace corral::base {
namespace {

// Only what would break the line: a message may hold what escape() already made printable.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      line += c;
    } else {
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return line;
}

}  // namespace

void log_line(Level level, std::string_view text) {
  const std::string line = fmt::format("<{}>{}\n", static_cast<int>(level), one_line(text));
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // nowhere left to say so
}

}  // namespace corral::base
