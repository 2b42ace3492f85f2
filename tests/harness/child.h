#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cgroup/pidfd.h"

namespace corral::harness {

struct Command {
  std::vector<std::string> argv = {};         // the first is looked up in PATH
  std::vector<std::string> environment = {};  // NAME=value on top of the test's own
  std::string log = {};                       // takes both outputs, appended; "": the test's own
  int group = -1;                             // a cgroup directory to execute in; borrowed
  int inherit = -1;  // an fd that stays open under the same number; borrowed
};

// A child process of the test: killed and reaped at the end, if not before.
class Child {
 public:
  // Throws where fork(2) fails; a failed exec is exit status 127, as a shell has it.
  explicit Child(const Command& command);
  Child(Child&&) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pidfd_.pid(); }
  const cgroup::Pidfd& pidfd() const { return pidfd_; }
  void signal(int number) const;
  // The status of waitpid(2) once it has exited; nullopt at the deadline. May be asked again.
  std::optional<int> wait(std::chrono::milliseconds deadline);
  // SIGKILL, and waits.
  void kill();

 private:
  cgroup::Pidfd pidfd_;
  std::optional<int> status_;
};

}  // namespace corral::harness
