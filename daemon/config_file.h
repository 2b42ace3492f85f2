#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/configuration.h"

namespace corral::daemon {

// The files of an instance, or FILE and its drop-ins, in the order in which they count.
struct ConfigFile {
  std::string path;
  bool own = true;
};
std::vector<ConfigFile> config_files(const Instance& instance, std::vector<std::string>& problems);
std::vector<ConfigFile> config_files(const std::string& file, std::vector<std::string>& problems);

// Assigns what the text of `file` says. Goes on after a line that is wrong.
void read_config(const ConfigFile& file, std::string_view text, Configuration& into,
                 std::vector<std::string>& problems);

}  // namespace corral::daemon
