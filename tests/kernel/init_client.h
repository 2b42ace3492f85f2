#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "cgroup/group.h"
#include "cgroup/pidfd.h"
#include "init/protocol.h"
#include "run/record.h"

// The other end of init/protocol.h as tests need it: it can also say what is wrong.
namespace corral::test {

struct Stream {
  uint32_t kind = CORRAL_STREAM_NULL;
  std::string path = {};
  int fd = -1;  // borrowed
};

struct Spec {
  std::vector<std::string> argv;
  std::vector<std::string> environment = {"PATH=/usr/bin:/bin"};
  std::string directory = "/";
  std::array<Stream, 3> streams = {};
};

// The spec as bytes, and bytes as a memfd(2).
std::string bytes_of(const Spec& spec);
UniqueFd memory_file(const std::string& bytes);

struct Reply {
  corral_reply said{};
  std::vector<UniqueFd> fds;  // supervisor, driver

  bool executed() const { return said.step == CORRAL_STEP_NONE && fds.size() == 2; }
  // "exec: 2": the step that failed and errno, or "executed: 0".
  std::string outcome() const;
};

// One connection to a spawner.
class Connection {
 public:
  explicit Connection(const std::string& socket);
  void send(const void* data, size_t size, const std::vector<int>& fds);
  void send(uint32_t kind, const std::vector<int>& fds, uint32_t protocol = CORRAL_PROTOCOL);
  // nullopt at the end of file. Throws at the deadline.
  std::optional<Reply> receive();

 private:
  UniqueFd fd_;
};

// A run's directories and exit file.
class RunDir {
 public:
  // Makes them, as `name` below `parent`.
  RunDir(const cgroup::Group& parent, const std::string& name);

  const cgroup::Group& run() const { return run_; }
  const cgroup::Group& init() const { return init_; }
  const cgroup::Group& work() const { return work_; }
  int exit_file() const { return exit_file_.get(); }
  std::string exit_line() const;

  std::vector<int> fds(int spec, const std::vector<int>& streams = {}) const;
  // Asks for a start and returns the answer.
  Reply start(const std::string& socket, const Spec& spec) const;

  std::optional<run::Exit> exit() const;
  std::optional<run::Members> members() const;
  // "exited 0", once it is recorded: waits for it, "" at the deadline.
  std::string awaited_exit() const;
  // Nobody in init/ nor work/: waits for it.
  bool becomes_empty() const;

 private:
  cgroup::Group run_, init_, work_;
  UniqueFd exit_file_;
};

// The bytes of a file that may be a pipe or in /proc; "" where there is none.
std::string slurp(const std::string& path);
// Of /proc/PID/status: the value of `key`, "" where the process is gone.
std::string status_of(pid_t pid, const std::string& key);
// The pids below a cgroup directory's own cgroup.procs.
std::vector<pid_t> members_of(const cgroup::Group& group);
bool readable(int fd, int milliseconds);

}  // namespace corral::test
