#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "cgroup/clone.h"
#include "cgroup/pidfd.h"
#include "cgroup/processes.h"
#include "harness/stack.h"

namespace corral::test {

using harness::Dict;
using harness::eventually;
using harness::must;
using harness::value;

inline constexpr uint64_t kMilliseconds = 1'000;  // in microseconds, as the options have them

// How many leaks a report counts, and what became of them.
struct Counts {
  uint64_t found = 0, terminated = 0, killed = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Counts& counts) {
    return out << counts.found << " found, " << counts.terminated << " terminated, "
               << counts.killed << " killed";
  }
};
inline Counts counts(const Dict& report) {
  return {value<uint64_t>(report, "LeaksFound"), value<uint64_t>(report, "Terminated"),
          value<uint64_t>(report, "Killed")};
}

// How a report says that the driver went.
struct Exit {
  std::string result, exit;
  int32_t status = 0;
  friend bool operator==(const Exit&, const Exit&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Exit& exit) {
    return out << exit.result << " (" << exit.exit << " " << exit.status << ")";
  }
};
inline Exit exit_of(const Dict& report) {
  return {value<std::string>(report, "Result"), value<std::string>(report, "DriverExit"),
          value<int32_t>(report, "DriverStatus")};
}

inline std::vector<Dict> leaks(const Dict& report) {
  return value<std::vector<Dict>>(report, "Leaks");
}
// The field `key` of each row, in their order.
template <typename T = std::string>
std::vector<T> column(const std::vector<Dict>& rows, const std::string& key) {
  std::vector<T> values;
  for (const Dict& row : rows) values.push_back(value<T>(row, key));
  return values;
}

// A pipe to give to a driver.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe2");
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
  }
  sdbus::Variant read_end() const { return sdbus::Variant(sdbus::UnixFd(read_.get())); }
  sdbus::Variant write_end() const { return sdbus::Variant(sdbus::UnixFd(write_.get())); }
  // The end that others have by now.
  void close_read() { read_.reset(); }
  void close_write() { write_.reset(); }

  // Whether every writer is gone and all is read; does not wait.
  bool at_end() const { return poll_for(POLLIN | POLLHUP, 0) == POLLHUP; }
  // What comes next; "" at the end of file, and where nothing comes.
  std::string read() const {
    char text[256];
    if (poll_for(POLLIN, static_cast<int>(harness::kDeadline.count())) == 0) return "";
    const ssize_t length = ::read(read_.get(), text, sizeof text);
    return length > 0 ? std::string(text, static_cast<size_t>(length)) : "";
  }

 private:
  short poll_for(short events, int timeout) const {
    pollfd waited{read_.get(), events, 0};
    return poll(&waited, 1, timeout) > 0 ? waited.revents : short{0};
  }
  UniqueFd read_, write_;
};

// The real corrald, and runs of tests/misbehave in it. That nothing is left at the end of a test is
// seen to by harness::Stack.
class ServiceTest : public testing::Test {
 protected:
  using Command = std::vector<std::string>;

  static Command misbehave(Command arguments) {
    arguments.insert(arguments.begin(), CORRAL_MISBEHAVE);
    return arguments;
  }
  static Command shell(const std::string& script, const Command& arguments = {}) {
    Command command = {"/bin/sh", "-c", script};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }
  // tests/misbehave under a shell that set SIGTERM to be ignored: a disposition outlives exec.
  static Command stubborn(const Command& arguments) {
    return shell("trap '' TERM; exec \"$0\" \"$@\"", misbehave(arguments));
  }

  harness::Client& client() { return stack_.client(); }

  // Returns the name of the run's directory.
  std::string start(const std::string& id, const Command& argv, Dict options = {}) {
    options.try_emplace("Environment", std::vector<std::string>{"PATH=/usr/bin:/bin"});
    return id + "." + must(client().start_run(id, argv, options)).invocation;
  }
  // As start(), of what says "ready" on its standard output; returns when it has.
  std::string start_ready(const std::string& id, const Command& argv, Dict options = {}) {
    Pipe output;
    options.emplace("StandardOutput", output.write_end());
    const auto directory = start(id, argv, std::move(options));
    output.close_write();
    EXPECT_EQ(output.read(), "ready\n");
    return directory;
  }

  // The report of a run that ends by itself, once it has. Nothing of it is left by then.
  Dict ended(const std::string& id) {
    Dict status;
    // An answer is a state, not an end; a busy machine takes its time for ten thousand processes.
    for (int polls = 0; polls < 5; ++polls) {
      status = must(client().wait_run(id, {{"TimeoutUSec", 20'000 * kMilliseconds}}));
      if (value<std::string>(status, "State") == "ended") break;
    }
    EXPECT_EQ(value<std::string>(status, "State"), "ended");
    expect_gone(id + "." + value<std::string>(status, "Invocation"));
    auto report = must(client().get_report(id));
    expect_consistent(report);
    return report;
  }
  // The report of EndRun, when it has replied. Nothing of it is left by then.
  Dict end(const std::string& id, const Dict& options = {}) {
    auto report = must(client().end_run(id, options));
    expect_gone(id + "." + value<std::string>(report, "Invocation"));
    expect_consistent(report);
    return report;
  }
  // start() and ended().
  Dict run(const Command& argv, Dict options = {}) {
    start("a", argv, std::move(options));
    return ended("a");
  }

  // Makes a call from inside the run at the absolute `directory`; the status of waitpid(2) of who
  // made it, which exits with 0 where `call` says true.
  template <typename Call>
  int status_inside(const std::string& directory, Call call) {
    const auto work = must(cgroup::Group::open(AT_FDCWD, directory + "/work"));
    const auto child = must(cgroup::clone_into(work, [&] {
      harness::Client mine(stack_.address());
      return call(mine) ? 0 : 1;
    }));
    int status = -1;
    EXPECT_EQ(waitpid(child.pid(), &status, 0), child.pid());
    return status;
  }
  template <typename Call>
  bool inside(const std::string& directory, Call call) {
    return status_inside(directory, std::move(call)) == 0;
  }
  // Where it lies, whatever it is nested in.
  std::string directory_of(const std::string& id) {
    return stack_.runs().substr(0, stack_.runs().find(stack_.root_control_group())) +
           property(id, "ControlGroup");
  }
  // Returns when so much time is over, as the kernel knows it: by the life of a run.
  void let_pass(const std::string& seconds) {
    start("clock", {"sleep", seconds});
    ended("clock");
    must(client().forget_run("clock"));
  }

  template <typename T = std::string>
  T property(const std::string& id, const std::string& name) {
    const auto path = must(client().get_run(id)).path;
    return must(client().run_property(path, name)).template get<T>();
  }
  std::vector<Dict> processes(const std::string& id) {
    return must(client().list_processes({{"Run", id}}));
  }
  // Held, so that what is said of them later is said of the same.
  std::vector<cgroup::Pidfd> pidfds(const std::string& id) {
    std::vector<cgroup::Pidfd> held;
    for (const auto pid : column<uint32_t>(processes(id), "PID"))
      held.push_back(must(cgroup::Pidfd::open(static_cast<pid_t>(pid))));
    return held;
  }

  // A cgroup of a run, e.g. "work".
  cgroup::Group open(const std::string& directory, const std::string& part) const {
    return must(cgroup::Group::open(AT_FDCWD, stack_.runs() + "/" + directory + "/" + part));
  }
  std::string control_group(const std::string& directory) const {
    return stack_.root_control_group() + "/runs/" + directory;
  }

  harness::Stack stack_;

 private:
  // The counts of a report and its rows tell one story: nobody of it escaped or was stuck, and
  // nobody of a run that has ended is held any more.
  static void expect_consistent(const Dict& report) {
    const auto [found, terminated, killed] = counts(report);
    const auto outcomes = column(leaks(report), "Outcome");
    const auto rows = [&](const char* outcome) {
      return static_cast<uint64_t>(std::ranges::count(outcomes, outcome));
    };
    EXPECT_EQ(found, outcomes.size() + value<uint64_t>(report, "LeaksOmitted"));
    EXPECT_THAT(outcomes, testing::Each(testing::AnyOf("term", "kill", "kept", "exited")));
    if (outcomes.size() == found) {
      EXPECT_EQ(rows("term"), terminated);
      EXPECT_EQ(rows("kill"), killed);
      EXPECT_EQ(rows("kept"), value<uint64_t>(report, "Kept"));
    }
    EXPECT_EQ(value<uint64_t>(report, "Escaped"), 0U);
    EXPECT_EQ(value<uint64_t>(report, "Stuck"), 0U);
  }
  // The janitor may have the directory already.
  void expect_gone(const std::string& directory) const {
    const auto group = cgroup::Group::open(AT_FDCWD, stack_.runs() + "/" + directory);
    const auto events = group ? group->events() : Result<cgroup::Events>(group.error());
    EXPECT_TRUE(events ? !events->populated : cgroup::is_gone(events.error()))
        << "said to have ended: " << directory;
  }
};

}  // namespace corral::test
