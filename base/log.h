#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace corral::base {

// The levels of syslog(3) that we use, with its numbers.
enum class Level { error = 3, warning = 4, notice = 5, info = 6, debug = 7 };

// Writes one line to standard error with the level in front as sd-daemon(3) has it ("<4>…"), so
// that the journal files it rightly. Control characters in `text` are escaped: one call is one
// line. What cannot be written is lost in silence.
void log_line(Level level, std::string_view text);

template <typename... Args>
void log(Level level, fmt::format_string<Args...> format, Args&&... args) {
  log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace corral::base

namespace corral {
using base::Level;
using base::log;
}  // namespace corral
