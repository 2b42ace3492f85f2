#pragma once

#include <array>
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
// use, the spawner and corrald, children of this process in a directory and a cgroup of their own.
// Every way out takes all of it down again.
class EmbeddedStack {
 public:
  static constexpr std::array kParts = {"the message bus", "the spawner", "corrald"};

  // Makes the directory and the cgroup; fails with the remedy where the cgroup is not ours to
  // write. `environment` is what the processes get; the programs are looked for beside corralctl,
  // then in its PATH.
  static Result<EmbeddedStack> create(const std::optional<std::string>& cgroup_parent,
                                      const std::vector<std::string>& environment);
  EmbeddedStack(EmbeddedStack&&) noexcept = default;

  // Returns when corrald has said that it is ready. An error carries the end of the log of what did
  // not start.
  Result<void> start();
  // D-Bus address of the private bus.
  std::string address() const { return address_in(directory_); }
  const PrivateDirectory& directory() const { return directory_; }
  const WorkingGroup& group() const { return group_; }
  // Of the parts, once they are started: their pidfds. Borrowed.
  std::vector<int> fds() const { return {bus_->fd(), spawner_->fd(), daemon_->fd()}; }
  // Waits until nothing of a run is left; false when `bound` is over. True as well when corrald has
  // exited: nobody ends them any more.
  bool wait_idle(std::chrono::milliseconds bound) const;
  // Kills all that is in a run; stop() proves it.
  void kill_runs() const;
  // Takes everything down; says what could not be removed. A second call does nothing.
  Result<void> stop();

  // Where they are in the directory of a stack.
  static std::string address_in(const PrivateDirectory& directory) {
    return "unix:path=" + directory / "bus";
  }
  static std::string log_in(const PrivateDirectory& directory) { return directory / "log"; }

 private:
  EmbeddedStack(PrivateDirectory directory, WorkingGroup group,
                const std::vector<std::string>& environment)
      : directory_(std::move(directory)), group_(std::move(group)), environment_(environment) {}

  Result<void> start_bus();
  Result<void> start_spawner();
  Result<void> start_daemon();
  // Starts a child that says by its ready fd that it is up.
  Result<EmbeddedChild> start_ready(const std::string& name, std::vector<std::string> argv);

  // Taken down from the last to the first.
  PrivateDirectory directory_;
  WorkingGroup group_;
  std::vector<std::string> environment_;
  std::optional<EmbeddedChild> bus_, spawner_, daemon_;
};

}  // namespace corral::cli
