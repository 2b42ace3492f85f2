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

// A process of the embedded service, in a session of its own, so that the terminal's Ctrl-C reaches
// corralctl alone. Waited for by its pidfd, never by -1: corralctl may have other children. Killed
// and reaped at the end, if not stopped before.
class EmbeddedChild {
 public:
  static constexpr int kReadyFd = 3;

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

}  // namespace corral::cli
