#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "harness/child.h"
#include "harness/eventually.h"

namespace corral::cli {

// A terminal with a session of its own on it, as a person sits before it. What it shows is read on
// and on; each expect() starts where the last one found something.
class Pty {
 public:
  // `argv` is the session's leader, on all three streams. TERM is dumb, and prompts are plain.
  explicit Pty(const std::vector<std::string>& argv);

  void type(const std::string& keys);
  // False at the deadline.
  bool expect(const std::string& text);
  // The status of waitpid(2), once everything is read; −1 at the deadline.
  int finish();
  // SIGKILL to the leader, and waits for it.
  void kill_leader() { leader_->kill(); }
  // All that was shown so far.
  const std::string& shown() const { return shown_; }

 private:
  // Waits for more; false at the end of the session, or at the deadline.
  bool read_on(std::chrono::steady_clock::time_point deadline);

  UniqueFd master_;
  std::string shown_;
  size_t seen_ = 0;
  std::optional<harness::Child> leader_;
};

}  // namespace corral::cli
