#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/service.h"
#include "dbus/server.h"

namespace corral::cli {

enum class Command {
  run,
  adopt,
  list,
  status,
  tree,
  ps,
  leaks,
  watch,
  config,
  end,
  wait,
  report,
  kill,
  forget,
  freeze,
  thaw,
  set,
  release,
  lease,
  enforcement
};
enum class JsonStyle { compact, pretty };

// The word for it on the command line.
std::string_view word(Command command);
// Whether it exits with the status of another program, and with 125 for failures of its own.
bool passes_status_on(Command command);

// One of a command to execute, a time to renew within, dropping, and listing.
struct LeaseRequest {
  std::string who, why;
  std::vector<std::string> argv;
  std::optional<microseconds> ttl;
  bool drop = false, list = false;
};

// A command line, checked for form. What the command does not use keeps its default.
struct Arguments {
  Command command = Command::list;
  dbus::BusAddress bus;
  bool embedded = false;
  std::optional<JsonStyle> json;
  bool legend = true;

  std::vector<std::string> names;  // ids; of status PIDs and :PORTs too
  std::optional<std::string> invocation;
  RunFilter runs;                     // list
  ProcessFilter processes;            // ps, leaks
  std::optional<microseconds> grace;  // end
  std::string reason;                 // end
  bool no_block = false;              // end
  bool allow_self = false;            // end
  EndsRequest ends;                   // end without names
  std::optional<std::string> until;   // wait
  int signal = 0;                     // kill
  std::string whom;                   // kill

  std::vector<uint32_t> pids;              // release, adopt
  SetRequest change;                       // set
  LeaseRequest lease;                      // lease
  std::optional<std::string> enforcement;  // enforcement: the new one

  StartRequest start;  // run; adopt
  bool detach = false;
  // Whether the run's driver is a child of ours.
  bool attached() const { return command == Command::run && !detach; }
  // Whether a command is executed by us, after "--".
  bool executes_here() const { return attached() || command == Command::lease; }
  // run, but for --detach
  bool verbose = false;  // the report, even of a clean run
  bool quiet = false;    // no report at all
  std::optional<int> fail_on_leak;
  std::optional<std::string> report_file;
  std::optional<std::string> cgroup_root;  // run --embedded
};

// What the program is started in, as far as arguments have their defaults from it.
struct Surroundings {
  uid_t uid = 0;
  std::vector<std::string> environment;  // NAME=value, and whatever else is in it
  std::string directory;                 // the current one
  std::string fresh_id;                  // for a run that is given none

  static Surroundings of_process();
  // nullopt where the variable is unset.
  std::optional<std::string> variable(const std::string& name) const;
};

// The end of the program instead of a command: help, version, or a usage error.
struct Leave {
  int status;
  std::string text;
};

std::variant<Arguments, Leave> parse_arguments(const std::vector<std::string>& words,
                                               const Surroundings& surroundings);

// --bus, else --system or --user, else $CORRAL_BUS_ADDRESS, else the system's bus for root and the
// user's for others.
dbus::BusAddress choose_bus(const std::optional<std::string>& bus, bool system, bool user,
                            const Surroundings& surroundings);

// `environment` with each NAME=value of `settings` in place of an earlier one of that name.
std::vector<std::string> with_settings(std::vector<std::string> environment,
                                       const std::vector<std::string>& settings);

}  // namespace corral::cli
