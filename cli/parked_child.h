#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cgroup/group.h"
#include "cgroup/pidfd.h"
#include "cli/held_signals.h"

namespace corral::cli {

// What is executed: found on the PATH of its own environment (execvp(3)).
struct ChildPlan {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=value
  std::string directory;                 // "": this one
};

// A child that has everything from this process's caller (terminal, process group, descriptors,
// limits, signals) and executes nothing of the plan until it is let go. Where this process dies
// before, it exits. The caller reaps.
class ParkedChild {
 public:
  // Born in `group`; where that is refused, or the kernel kills what is born there, in this
  // process's own cgroup. Signals must be held. In vain: there is no child.
  static Result<ParkedChild> bear(const cgroup::Group* group, const ChildPlan& plan,
                                  const HeldSignals& signals);

  pid_t pid() const { return process_.pid(); }
  // Lets it go. That it is dead by now shows when it is waited for.
  void release() const;
  // Makes it exit without having executed anything, and reaps it.
  void abandon();

  // Readable when failure() can tell.
  int channel() const { return channel_.get(); }
  // Why it could not execute (`CMD: No such file or directory`); it exits with 126, or 127 where
  // the command was not found. nullopt where it executed, or died. To be called once.
  std::optional<Error> failure();

 private:
  ParkedChild(UniqueFd channel, cgroup::Pidfd process, const ChildPlan& plan)
      : channel_(std::move(channel)),
        process_(std::move(process)),
        command_(plan.argv.front()),
        directory_(plan.directory) {}
  static Result<ParkedChild> bear_once(const cgroup::Group* group, const ChildPlan& plan,
                                       const HeldSignals& signals);
  bool lives() const;

  UniqueFd channel_;
  cgroup::Pidfd process_;
  std::string command_, directory_;
};

}  // namespace corral::cli
