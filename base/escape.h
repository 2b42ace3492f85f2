#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace corral::base {

// Bytes that came from a process, made fit for the bus and a terminal: valid UTF-8 stays, while
// invalid UTF-8, noncharacters (U+FFFE and the like), control characters (C0, DEL, C1) and the
// backslash become \xNN, byte by byte. Reversible, and never longer than 4 times the input.
std::string escape(std::string_view bytes);

// Whether `text` is what the bus takes as a string: valid UTF-8 without NUL and, because sd-bus
// refuses them, without noncharacters.
bool is_utf8(std::string_view text);

}  // namespace corral::base
