#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/embedded_child.h"
#include "cli/embedded_directory.h"
#include "cli/embedded_group.h"

namespace corral::cli {

// The whole service for as long as one command lives: a private message bus that only this uid may
// use, the spawner and corrald, in a directory and a cgroup of their own. Every way out takes all
// of it down again.
class EmbeddedStack {
 public:
  // Returns when corrald has said that it is ready. An error carries the end of the log of what did
  // not start. `environment` is what the processes get; the programs are looked for beside
  // corralctl, then in its PATH.
  static Result<EmbeddedStack> start(const std::optional<std::string>& cgroup_parent,
                                     const std::vector<std::string>& environment);
  EmbeddedStack(EmbeddedStack&&) noexcept = default;

  // D-Bus address of the private bus.
  std::string address() const { return "unix:path=" + directory_ / "bus"; }
  // The part that has exited although nobody stopped it, or does so within `bound` (its connection
  // goes a moment before it), with the end of the log; success where all are up.
  Result<void> check(std::chrono::milliseconds bound) const;
  // Takes everything down; says what could not be removed. A second call does nothing.
  Result<void> stop();

 private:
  EmbeddedStack(PrivateDirectory directory, WorkingGroup group,
                const std::vector<std::string>& environment)
      : directory_(std::move(directory)), group_(std::move(group)), environment_(environment) {}

  Result<void> start_bus();
  Result<void> start_spawner();
  Result<void> start_daemon();
  // Starts a child that says by its ready fd that it is up.
  Result<EmbeddedChild> start_ready(const std::string& name, std::vector<std::string> argv);
  Error with_log(const std::string& what) const;

  // Taken down from the last to the first.
  PrivateDirectory directory_;
  WorkingGroup group_;
  std::vector<std::string> environment_;
  std::optional<EmbeddedChild> bus_, spawner_, daemon_;
};

}  // namespace corral::cli
