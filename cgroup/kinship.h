#pragma once

#include <dirent.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cgroup/environ.h"

namespace corral::cgroup {

// A process as one pass over /proc saw it. The parent is the kernel's real parent, never a tracer;
// 0: it has none, or one outside of our PID namespace (pid_namespaces(7)).
struct Kin {
  pid_t pid = 0, ppid = 0;
  uint64_t start_time = 0;    // clock ticks since boot
  uint32_t uid = 0;           // effective
  std::string control_group;  // path below the cgroup2 mount, as path_of() gives it
};

// Who descends from whom, from one pass over /proc, which is not atomic: a parent may go between
// two reads, and its number may come to mean another. So a link counts only where the parent is not
// younger than the child, and one that is broken is read again: by then the kernel has given the
// child to a subreaper or pid 1 (PR_SET_CHILD_SUBREAPER(2const)).
// Every answer is true of some moment between the pass and now.
class Kinship {
 public:
  // Reads nothing yet. Fails where /proc cannot be opened or does not show ourselves. Holds an fd
  // until the pass is done.
  static Result<Kinship> open();
  // Reads `how_many` more processes; true when all are read. One that goes is left out, and so is
  // one that /proc hides from us (hidepid, proc(5)); one that is born meanwhile may be. A listing
  // that breaks off ends the pass.
  bool step(size_t how_many);

  // The processes that the pass read, by pid.
  const std::vector<pid_t>& pids() const { return read_; }
  // nullptr where the pass did not see it. The answer lives as long as the Kinship, which renews it
  // where it reads the process again.
  const Kin* find(pid_t pid) const;
  // As find(), and reads now what the pass did not see.
  const Kin* find_or_read(pid_t pid);
  // nullptr where the chain ends: the child's ppid is 0 then, or it or its parent went or is
  // hidden, and nothing is known.
  const Kin* parent(pid_t child);
  // Parents first, itself not. For who descends from it now: a child whose own parent has exited
  // is a subreaper's by now. Empty where the pass did not see it.
  std::vector<Kin> descendants(pid_t pid);
  // The parent first.
  std::vector<Kin> ancestors(pid_t pid);
  // Whether the environment of one that the pass read names CORRAL_INVOCATION: read once, for all
  // who look for a run of their own.
  Holds names_a_run(const Kin& kin);

 private:
  struct Close {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  explicit Kinship(DIR* proc) : proc_(proc) {}
  const Kin* elder(const Kin& child) const;
  std::unique_ptr<DIR, Close> proc_;  // nullptr: the pass is done
  std::vector<pid_t> read_;
  std::unordered_map<pid_t, Kin> kin_;
  std::unordered_map<pid_t, Holds> names_;  // what names_a_run() said
};

}  // namespace corral::cgroup
