#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace corral::daemon {

// One line of a configuration file.
struct ConfigLine {
  enum class Kind { nothing, section, assignment };
  Kind kind = Kind::nothing;
  std::string name, value;  // of the section or key, without white space at their ends
};
// As libinih has it: [Section], Key=value, or nothing (white space, or a comment that begins with
// ";" or "#"); " ;" begins a comment in a value too. Fails on everything else, and on more than
// kLineBytes, which is what the library takes.
inline constexpr size_t kLineBytes = 190;
Result<ConfigLine> parse_line(std::string_view line);

}  // namespace corral::daemon
