#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cgroup/pidfd.h"
#include "cli/embedded_channel.h"
#include "cli/embedded_directory.h"
#include "cli/embedded_group.h"
#include "cli/embedded_host_process.h"

namespace corral::cli {

// corralctl's hold on its embedded service, which lives in a process of its own, the host
// (embedded_host_process.h): that one takes everything down when it is told to, and as well when
// corralctl is gone, however it went. Of a host that is killed this object removes what it left.
class EmbeddedHost {
 public:
  // Forks, which takes a process of one thread; the earlier, the less the host inherits. Returns
  // when the service is ready, with the error of whatever did not start. The host is a child of the
  // caller: who waits for "any child" may get it, and does no harm.
  static Result<EmbeddedHost> start(const HostOptions& options);
  EmbeddedHost(EmbeddedHost&&) noexcept = default;
  EmbeddedHost& operator=(EmbeddedHost&&) = delete;
  ~EmbeddedHost();

  // D-Bus address of the private bus.
  std::string address() const;
  // What of it has exited although nobody stopped it, or does so within `bound` (its connection
  // goes a moment before it), with the end of the log; success where all are up.
  Result<void> check(std::chrono::milliseconds bound) const;
  // Has everything taken down and waits for that; says what could not be removed. A second call
  // does nothing.
  Result<void> stop();

 private:
  EmbeddedHost(UniqueFd socket, cgroup::Pidfd process)
      : socket_(std::move(socket)), process_(std::move(process)) {}

  // The next message, which has to begin with `word`.
  Result<HostMessage> expect(const std::string& word);
  Result<void> take_place();
  Result<void> take_parts();
  void reap();

  UniqueFd socket_;
  cgroup::Pidfd process_;
  // Held for the case that the host cannot remove them any more.
  std::optional<PrivateDirectory> directory_;
  std::optional<WorkingGroup> group_;
  std::vector<cgroup::Pidfd> parts_;  // as EmbeddedStack::kParts names them
  UniqueFd watch_;                    // epoll of all pidfds
};

}  // namespace corral::cli
