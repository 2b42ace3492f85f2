#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/loop.h"
#include "daemon/syncer.h"
#include "run/record.h"
#include "run/status.h"

namespace corral::daemon {

// The files below the state directory: what remains when the kernel forgets.
//
//   live/<invocation>.json   the record, while the run lives
//   live/<invocation>.exit   one line of JSON (run::Exit), by the supervisor
//   ended/<invocation>.json  a Report
//   enforcement              one word, where it was set
//   broken/                  what could not be read, set aside and never deleted
//
// Files are renamed into place whole, and synced in batches soon after: a power cut can lose the
// last moments and nothing else.
class Store {
 public:
  // Makes what is missing (0700). Fails where the directory cannot be made or written.
  static Result<Store> open(const std::string& directory, std::chrono::microseconds sync_delay);

  Result<void> write_stub(const run::Record& record);
  // Made new, for the supervisor to write; read with read_exit().
  Result<UniqueFd> make_exit_file(const run::Invocation& invocation);
  std::optional<run::Exit> read_exit(const run::Invocation& invocation) const;
  // Removes stub and exit file. What is not there is as good as removed.
  void drop_live(const run::Invocation& invocation);

  // Replaces the stub by the report: the stub goes only when the report is in place.
  Result<void> write_report(const run::Status& status);
  void forget(const run::Invocation& invocation);

  // The service's own; nullopt where it was never set, or is not to be read.
  Result<void> write_enforcement(run::Enforcement value);
  std::optional<run::Enforcement> read_enforcement() const;

  // What was there at the start. A file that cannot be read is set aside and named in the log.
  std::vector<run::Record> read_stubs();
  std::vector<run::Status> read_reports();

 private:
  Store(UniqueFd live, UniqueFd ended, UniqueFd broken, UniqueFd top);
  template <typename T>
  std::vector<T> read_all(const UniqueFd& directory, Result<T> (*parse)(std::string_view));
  void set_aside(const UniqueFd& directory, const std::string& name, const Error& why);

  UniqueFd live_, ended_, broken_, top_;
  std::unique_ptr<Syncer> syncer_;
};

}  // namespace corral::daemon
