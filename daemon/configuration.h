#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/constants.h"
#include "dbus/calls.h"

namespace corral::daemon {

// Whose service this is, as far as places depend on it (file-hierarchy(7)).
struct Instance {
  // Whose files are read, in this order: they hold corral/corrald.conf and its drop-ins.
  struct Directory {
    std::string path;
    bool own = true;  // else [Service] in it is another service's, and is passed over
  };
  std::vector<Directory> directories;
  std::string state_directory, spawner_socket;  // the defaults

  // root: the system's. Others: a user's, by $XDG_CONFIG_HOME, $XDG_STATE_HOME, $XDG_RUNTIME_DIR
  // and $HOME; one that is not an absolute path is as good as unset.
  static Instance of(uid_t uid);
};

// Every value, and where it came from: "default", "FILE:LINE" or "command line".
class Configuration {
 public:
  explicit Configuration(const Instance& instance);

  // Later ones win; "" is the default again. As set() of setting.h.
  Result<void> assign(const Setting& setting, std::string_view text, std::string source);

  const Config& values() const { return values_; }
  // In the order of the table.
  std::vector<dbus::ConfigurationRow> rows() const;

 private:
  Config defaults_, values_;
  std::array<std::string, kSettings.size()> sources_;
};

// From the command line: the files to read, and values that win over theirs.
struct Given {
  std::optional<std::string> file;                               // just this one, and FILE.d/*.conf
  std::vector<std::pair<std::string_view, std::string>> values;  // key of [Service], text
};

struct Loaded {
  Configuration configuration;
  // A sentence for every line, file or option that is wrong. None: the configuration is whole.
  std::vector<std::string> problems;
};
Loaded load(const Instance& instance, const Given& given);

}  // namespace corral::daemon
