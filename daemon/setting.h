#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/constants.h"

namespace corral::daemon {

// The row of the table; nullptr where there is none.
const Setting* find_setting(std::string_view section, std::string_view key);
bool is_section(std::string_view name);

// Sets what `text` says. Fails where it says nothing of the kind; the message is what is wrong with
// it and what is allowed, and `config` is as it was.
Result<void> set(Config& config, const Setting& setting, std::string_view text);
// The value as set() takes it.
std::string text_of(const Config& config, const Setting& setting);
// "0 to 1h", "kill, freeze or report": for people.
std::string allowed(const Setting& setting);

// The whole table as a configuration file in which every line is a comment.
std::string settings_as_file();

}  // namespace corral::daemon
