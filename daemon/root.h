#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/group.h"
#include "run/id.h"

namespace corral::daemon {

// A run's directory by name and inode id, reopened for each use, so that ten thousand runs hold no
// fds: what was recreated under the same name is not ours and reads as gone (ENOENT).
//
//   <run>/init/   the supervisor
//   <run>/work/   the driver and its descendants
class RunDirectory {
 public:
  RunDirectory(int runs, std::string name, uint64_t id)
      : runs_(runs), name_(std::move(name)), id_(id) {}

  const std::string& name() const { return name_; }
  uint64_t id() const { return id_; }
  Result<cgroup::Group> open() const;
  Result<cgroup::Group> open_work() const;

 private:
  Result<cgroup::Group> open_part(const char* part) const;
  int runs_;  // borrowed from Root
  std::string name_;
  uint64_t id_;
};

// The directory that holds all runs: <root>/runs/, in a cgroup that was delegated to us
// (cgroup-v2.rst, "Delegation").
class Root {
 public:
  // `directory`: an absolute path on the cgroup2 mount; it is made if only its last part is
  // missing. Not given: "corral" below the caller's own cgroup. Fails with the remedy where there
  // is no cgroup2 or no right to make directories in it.
  static Result<Root> open(const std::optional<std::string>& directory);

  // Where <run> lies below the cgroup2 mount, as /proc/PID/cgroup shows it.
  std::string path_of(const std::string& run_name) const { return path_ + "/" + run_name; }
  const cgroup::Group& runs() const { return runs_; }
  // mkdir; the caller makes its parts after the record is on it.
  Result<cgroup::Group> create(const std::string& name) const;
  RunDirectory directory(const std::string& name, uint64_t id) const {
    return {runs_.fd(), name, id};
  }

  // The run whose directory the process is in, at whatever depth; nullopt for one that is in none.
  // Fails with ESRCH where the process is gone.
  Result<std::optional<run::DirectoryName>> run_of(int pid) const;

 private:
  Root(cgroup::Group runs, std::string path) : runs_(std::move(runs)), path_(std::move(path)) {}
  cgroup::Group runs_;
  std::string path_;  // of runs/ below the mount
};

}  // namespace corral::daemon
