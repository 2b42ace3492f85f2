#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cgroup/pidfd.h"

namespace corral::cli {

struct ChildCommand {
  std::string name;                      // for messages: "the message bus"
  std::vector<std::string> argv;         // the first is a path
  std::vector<std::string> environment;  // NAME=value
  std::string log;                       // file for both outputs, appended
  int ready_fd = -1;                     // open in the child as kReadyFd; borrowed
};

// A process of the embedded service, in a session of its own. It gets SIGTERM when its parent dies
// (PR_SET_PDEATHSIG of prctl(2)). Waited for by its pidfd, never by -1: the parent may have other
// children. Killed and reaped at the end, if not stopped before.
class EmbeddedChild {
 public:
  static constexpr int kReadyFd = 3;

  // Forks, which takes a process of one thread. A program that cannot be executed says so in the
  // log and exits.
  static Result<EmbeddedChild> start(const ChildCommand& command);
  EmbeddedChild(EmbeddedChild&&) noexcept = default;
  EmbeddedChild& operator=(EmbeddedChild&&) = delete;
  ~EmbeddedChild();

  const std::string& name() const { return name_; }
  // Readable once it has exited.
  int fd() const { return pidfd_.fd(); }
  bool exited() const { return pidfd_.exited(); }
  // SIGTERM, and SIGKILL where it is still there after `bound`; reaped. A second call does nothing.
  void stop(std::chrono::milliseconds bound);

 private:
  EmbeddedChild(std::string name, cgroup::Pidfd pidfd)
      : name_(std::move(name)), pidfd_(std::move(pidfd)) {}
  std::string name_;
  cgroup::Pidfd pidfd_;
};

// Waits until `fd` is readable, `child` has exited, or `bound` is over; true only for the first.
// What was written before an exit counts.
bool wait_readable(int fd, const EmbeddedChild& child, std::chrono::milliseconds bound);

// Waits for the exit of a process; false when `bound` is over.
bool wait_exit(int pidfd, std::chrono::milliseconds bound);

// `what`, and the end of that log on the same line.
Error with_log(const std::string& what, const std::string& log);

}  // namespace corral::cli
