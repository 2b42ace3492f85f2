#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "run/id.h"
#include "run/policy.h"
#include "run/report.h"
#include "run/status.h"
#include "run/words.h"

namespace corral::run {

// What the kernel keeps of a run for us, as JSON in extended attributes of the run's own directory
// (xattr(7); a value holds at most 65,536 bytes, so neither argv nor environment is in it).
inline constexpr const char* kRecordXattr = "user.corral.run";  // Record
// Members and Exit are the supervisor's to write; where the driver was attached, the service's.
inline constexpr const char* kDriverXattr = "user.corral.driver";  // Members
inline constexpr const char* kExitXattr = "user.corral.exit";      // Exit
inline constexpr const char* kEndXattr = "user.corral.end";        // Ending

inline constexpr unsigned kRecordVersion = 1;

// A process by number and start time (clock ticks since boot, proc_pid_stat(5) field 22).
struct ProcessName {
  uint32_t pid = 0;
  uint64_t start_time = 0;

  friend bool operator==(const ProcessName&, const ProcessName&) = default;
};

// Who the run is. Written before anything is born in it, and once more into the store, for when the
// kernel forgets (reboot, a removed directory).
struct Record {
  RunId id;
  Invocation invocation;
  std::string owner;
  uint32_t owner_uid = 0;
  std::string token, description;
  std::map<std::string, std::string> labels;
  Policy policy;
  std::string boot_id;
  uint64_t cgroup_id = 0;  // inode of the directory: a path may come again, this does not
  base::Moment start;
  Containment containment = Containment::cooperative;
  ProcessName opener = {};  // whom a run of OpenRun is tied to; pid 0 for one of StartRun
  Kind kind = Kind::driver;
  // The run from inside which it was started as an independent one.
  std::optional<DirectoryName> spared_from = {};

  friend bool operator==(const Record&, const Record&) = default;
};
std::string to_json(const Record& record);
// Fails on what is torn, of another version, or not ours; the message says which.
Result<Record> parse_record(std::string_view json);

// {"driver":{"pid":…,"start":…},"supervisor":{"pid":…,"start":…}}: written before the driver is let
// go. The supervisor is whoever will record the driver's exit: of an attached one, the opener.
struct Members {
  ProcessName driver, supervisor;

  friend bool operator==(const Members&, const Members&) = default;
};
std::string to_json(const Members& members);
Result<Members> parse_members(std::string_view json);

// {"exit":"exited|killed|dumped","status":…,"realtime":…,"monotonic":…}: written before the driver
// is reaped.
struct Exit {
  DriverExit exit = DriverExit::unknown;
  int32_t status = 0;
  base::Moment when;

  friend bool operator==(const Exit&, const Exit&) = default;
};
std::string to_json(const Exit& exit);
Result<Exit> parse_exit(std::string_view json);

// An end under way, so that a service that starts again goes on with it: nobody is asked twice.
struct Ending {
  EndReason reason = EndReason::none;
  std::string message, ended_by;
  bool asked = false;            // the end was asked for, and no policy spares
  bool holding = false;          // its processes are left in place
  bool all_asked = false;        // SIGTERM went to everyone
  base::Moment began;            // of the end
  uint64_t kill_at_usec = 0;     // CLOCK_MONOTONIC; 0: grace has not begun
  uint64_t hold_until_usec = 0;  // CLOCK_MONOTONIC; 0: for as long as it takes

  friend bool operator==(const Ending&, const Ending&) = default;
};
std::string to_json(const Ending& ending);
Result<Ending> parse_ending(std::string_view json);

// The store's form of an ended run: its report, every field on the wire, in its own words, and what
// else its object shows; plus the token and "Version".
std::string to_json(const Status& status);
Result<Status> parse_status(std::string_view json);

}  // namespace corral::run
