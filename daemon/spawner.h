#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/callback.h"
#include "base/result.h"
#include "cgroup/group.h"
#include "cgroup/pidfd.h"
#include "daemon/loop.h"
#include "run/spec.h"

namespace corral::daemon {

// What is handed to the spawner for one start. All borrowed for the call.
struct Birth {
  const run::Spec& spec;
  const run::Invocation& invocation;
  const cgroup::Group& run;
  const cgroup::Group& init;
  const cgroup::Group& work;
  int exit_file;  // beside the stub; the supervisor writes the exit status to it
};

// A driver that has executed, and its supervisor.
struct Born {
  cgroup::Pidfd driver;
  uint32_t supervisor_pid = 0;
  bool moved = false;  // not born in its cgroup: forked and moved, because the kernel refused or
                       // killed it at birth
};

struct KernelBugs {
  bool dead_leader =
      false;  // cgroup.kill spares a process whose group leader called pthread_exit(3)
  bool killed_birth = false;  // a child cloned into a once-killed cgroup is SIGKILLed at birth
};

// The spawner's client (init/protocol.h): the spawner forks, the service does not. A connection a
// request, so that a spawner that died or was started again needs no care: ECONNREFUSED or ENOENT,
// or end of file in the middle, is the error of that start alone.
class Spawner {
 public:
  Spawner(Loop& loop, std::string socket, std::chrono::microseconds bound);
  ~Spawner();

  // Calls back once: when the driver has executed, or with the failing step and errno (`exec "x":
  // No such file or directory`), or past the bound. On an error nothing of the start is left
  // alive, except past the bound.
  void start(const Birth& birth, base::Callback<void(Result<Born>)> done);
  // Probes for kernel bugs in a throw-away cgroup, which must be empty and stays so.
  void probe(const cgroup::Group& throw_away, base::Callback<void(Result<KernelBugs>)> done);
  // The process that listens on the socket now; nullopt where nobody does.
  std::optional<pid_t> pid() const;

 private:
  struct Answer;
  struct Pending;
  using Done = base::Callback<void(Result<Answer>)>;
  // Connects, sends one request and waits for its answer without blocking.
  void ask(uint32_t kind, std::vector<int> fds, Done done);
  void on_readable(int connection);
  void finish(int connection, Result<Answer> answer);
  // Answers in the next turn of the loop: nobody is called back from inside start().
  void fail_later(Error error, Done done);

  Loop& loop_;
  std::string socket_;
  std::chrono::microseconds bound_;
  std::unordered_map<int, std::unique_ptr<Pending>> pending_;  // by the connection's fd
  int next_failure_ = -1;                                      // keys of those that have none
};

}  // namespace corral::daemon
