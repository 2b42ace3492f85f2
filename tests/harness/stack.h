#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/child.h"
#include "harness/client.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/scratch_group.h"
#include "harness/temp_dir.h"

namespace corral::harness {

// The programs under test, as this build made them.
std::string corrald_path();
std::string corralctl_path();
std::string corral_init_path();

struct StackOptions {
  // Go in front of the command line. The wrapper must become the program in the same process:
  // {"strace", "-D", "-f", "-o", file, "-e", "inject=…"} does.
  std::vector<std::string> corrald_wrapper = {}, spawner_wrapper = {};
  std::vector<std::string> corrald_arguments = {};                              // added at the end
  std::vector<std::string> corrald_environment = {}, spawner_environment = {};  // NAME=value
  bool start = true;  // bus, spawner and corrald, before the constructor returns
};

// The service as it runs without systemd: a private message bus, the spawner and corrald, in a
// cgroup and a directory of their own.
//
//   <scratch>/service/   bus, spawner, corrald
//   <scratch>/root/      --cgroup-root: the runs
//
// At the end nothing may be left: no process and no directory of a run, no fd of corrald more than
// it had when it first said that it was ready. Each is a failure of the running test, whose message
// ends with corrald's log. Whatever the test did, all of it is killed and removed.
class Stack {
 public:
  explicit Stack(StackOptions options = {});
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack();

  // Takes effect at the next start.
  StackOptions& options() { return options_; }

  void start_bus();
  // SIGKILL. Every connection is lost, client()'s included: it makes a new one when it is asked
  // next.
  void kill_bus();
  void start_spawner();
  void kill_spawner();
  // Returns when it has said READY=1; throws with its log where it exits instead.
  void start_corrald();
  // As start_corrald(), for one that is expected to give up: its exit status of waitpid(2).
  std::optional<int> start_corrald_expecting_exit();
  void kill_corrald();
  // SIGTERM, and waits; the status of waitpid(2).
  std::optional<int> stop_corrald();
  void restart_corrald() {
    kill_corrald();
    start_corrald();
  }

  pid_t corrald_pid() const;
  pid_t spawner_pid() const;
  // For waiting; start_corrald() must have succeeded.
  Child& corrald() { return *corrald_; }

  const std::string& address() const { return address_; }
  // A caller outside all runs, made when first asked.
  Client& client();

  // Directories; all absolute.
  const TempDir& temp() const { return temp_; }
  std::string state_dir() const { return temp_ / "state"; }
  std::string spawner_socket() const { return temp_ / "spawner"; }
  std::string root() const { return scratch_.path() + "/root"; }
  std::string runs() const { return root() + "/runs"; }
  // The same as /proc/PID/cgroup says it.
  std::string root_control_group() const { return scratch_.control_group() + "/root"; }
  const ScratchGroup& scratch() const { return scratch_; }

  // What corrald and the spawner wrote on standard error so far, over all their lives.
  std::string log() const;

  // The pids below root(), at whatever depth.
  std::vector<pid_t> processes() const;
  // Of corrald now, but for pidfds of this process: the service keeps those of its callers.
  size_t open_fds() const;

  // Waits for it, and fails the running test where something of a run is left. The destructor calls
  // it unless the test took that upon itself.
  void expect_nothing_left();
  void allow_leftovers() { check_at_end_ = false; }

 private:
  void spawn_corrald();
  bool wait_ready();

  StackOptions options_;
  TempDir temp_;
  ScratchGroup scratch_;
  cgroup::Group service_;
  std::string address_;
  UniqueFd notify_;
  std::optional<Child> bus_, spawner_, corrald_;
  std::unique_ptr<Client> client_;
  size_t idle_fds_ = 0;  // of corrald, when it was first ready
  bool check_at_end_ = true;
};

}  // namespace corral::harness
