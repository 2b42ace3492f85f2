#include "daemon/config_line.h"

#include <fmt/format.h>
#include <ini.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "base/parse.h"

namespace corral::daemon {
namespace {

// The line, two newlines, "=" and a NUL fit.
static_assert(kLineBytes + 5 <= INI_MAX_LINE);

struct Seen {
  std::string section;
  std::vector<std::pair<std::string, std::string>> assignments;
};

int take(void* user, const char* section, const char* name, const char* value) {
  auto& seen = *static_cast<Seen*>(user);
  seen.section = section;
  seen.assignments.emplace_back(name, value);
  return 1;
}

bool is_plain(std::string_view line) {
  return base::is_utf8(line) && std::ranges::none_of(line, [](unsigned char c) {
           return (c < 0x20 && c != '\t') || c == 0x7f;
         });
}

// What stands behind a section's bracket and would be passed over.
std::string_view behind_bracket(std::string_view line) {
  const auto end = line.find(']');
  return end == line.npos ? "" : base::trimmed(line.substr(end + 1));
}

// Python's "name: value", which the library takes as well.
bool has_colon(std::string_view line, std::string_view name) {
  return !base::trimmed(line.substr(name.size())).starts_with('=');
}

}  // namespace

Result<ConfigLine> parse_line(std::string_view line) {
  using Kind = ConfigLine::Kind;
  line = base::trimmed(line);
  if (line.size() > kLineBytes) return Error{fmt::format("longer than {} bytes", kLineBytes), 0};
  if (!is_plain(line)) return Error{"not UTF-8 text, or with control characters", 0};
  // The library tells the number of the first bad line only, and nothing of a section without keys:
  // so it has one line at a time, with an assignment behind it that says which section it is.
  Seen seen;
  const std::string text = fmt::format("{}\n=\n", line);
  const bool wrong = ini_parse_string(text.c_str(), take, &seen) != 0;
  const bool section = line.starts_with('[') || !seen.section.empty();
  const bool cut = section && !behind_bracket(line).empty();
  if (wrong || cut || seen.assignments.empty())
    return Error{"neither [Section] nor Key=value nor a comment, which begins with # or ;", 0};
  if (section) return ConfigLine{Kind::section, seen.section, ""};
  if (seen.assignments.size() == 1) return ConfigLine{};
  auto& [name, value] = seen.assignments.front();
  if (has_colon(line, name)) return Error{"no = between key and value", 0};
  return ConfigLine{Kind::assignment, std::move(name), std::move(value)};
}

}  // namespace corral::daemon
