#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/group.h"
#include "run/id.h"

namespace corral::daemon {

// A run's directory by place and inode id, reopened for each use, so that ten thousand runs hold no
// fds: what was recreated at the same place is not ours and reads as gone (ENOENT).
//
//   <run>/init/           the supervisor, if the service started the run
//   <run>/work/           the driver and its descendants
//   <run>/runs/<nested>/  runs that were started from inside, each of the same shape
class RunDirectory {
 public:
  RunDirectory(int runs, std::string place, uint64_t id)
      : runs_(runs), place_(std::move(place)), id_(id) {}

  // Below the root's runs/: its name, or PARENT/runs/NAME.
  const std::string& place() const { return place_; }
  uint64_t id() const { return id_; }
  Result<cgroup::Group> open() const;
  Result<cgroup::Group> open_work() const;
  // cgroup::write_record() on it.
  Result<void> write_record(const char* name, const std::string& json) const;

 private:
  Result<cgroup::Group> open_part(const char* part) const;
  int runs_;  // borrowed from Root
  std::string place_;
  uint64_t id_;
};

// The place of a run of this name that is nested in the one at `parent`.
std::string nested_place(const std::string& parent, const std::string& name);

// The directory that holds all runs: <root>/runs/, in a cgroup that was delegated to us
// (cgroup-v2.rst, "Delegation").
class Root {
 public:
  // `directory`: an absolute path on the cgroup2 mount; it is made if only its last part is
  // missing. Not given: "corral" below the caller's own cgroup. Fails with the remedy where there
  // is no cgroup2 or no right to make directories in it.
  static Result<Root> open(const std::optional<std::string>& directory);

  // Whether the directory is still there: somebody may have removed it while no run was in it.
  bool exists() const;
  // Becomes the one that was opened anew in its place. The fd of runs() keeps its number: whoever
  // borrowed it goes on with the new directory, and finds nothing of its own there.
  Result<void> become(const Root& anew);

  // Where a run lies below the cgroup2 mount, as /proc/PID/cgroup shows it.
  std::string path_of(const std::string& place) const { return path_ + "/" + place; }
  // Where it lies in the file system.
  std::string directory_of(const std::string& place) const { return directory_ + "/" + place; }
  const cgroup::Group& runs() const { return runs_; }
  // mkdir, of its parent's runs/ too; the caller makes its parts after the record is on it.
  Result<cgroup::Group> create(const std::string& place) const;
  RunDirectory directory(const std::string& place, uint64_t id) const {
    return {runs_.fd(), place, id};
  }
  // The places of the runs that are nested in the one at `place`, by their directories.
  std::vector<std::string> nested_in(const std::string& place) const;

  // The innermost run whose directory the process is in; nullopt for one that is in none.
  // Fails with ESRCH where the process is gone.
  Result<std::optional<run::DirectoryName>> run_of(int pid) const;
  // The processes that hold the directory open (init/); usually one, or none.
  std::vector<pid_t> keepers() const;
  // Of runs/ below the mount.
  const std::string& path() const { return path_; }

 private:
  Root(cgroup::Group runs, std::string path, std::string directory)
      : runs_(std::move(runs)), path_(std::move(path)), directory_(std::move(directory)) {}
  cgroup::Group runs_;
  std::string path_;       // of runs/ below the mount
  std::string directory_;  // of runs/ in the file system
};

}  // namespace corral::daemon
