#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace corral::cli {

// `text` with nothing in it that a terminal would obey: control characters and invalid UTF-8 become
// \xNN. The backslash stays, as the service has escaped what came from processes already.
std::string printable(std::string_view text);

// Columns that printable text takes on a terminal (wcwidth(3)). Characters of unknown width, as all
// beyond ASCII are in the C locale, count one.
size_t columns(std::string_view text);

// The text, or as much of it as fits into `width` columns with … at its end. Width 0 gives "".
std::string fitted(std::string_view text, size_t width);

// The arguments as a shell would take them: quoted where need be, printable.
std::string command_text(const std::vector<std::string>& argv);

}  // namespace corral::cli
