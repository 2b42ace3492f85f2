#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cgroup/processes.h"
#include "cgroup_test.h"

namespace corral::cgroup {

// Ten thousand forks take their time on a machine that does other things, too.
inline constexpr std::chrono::milliseconds kReadyDeadline = std::chrono::seconds{60};

// tests/misbehave in a cgroup: constructed when it says that its shape is in place.
class Misbehaving {
 public:
  // `argv` without the program's name. `program` is what it sees as its name.
  explicit Misbehaving(const Group& group, std::vector<std::string> argv,
                       const std::string& program = "misbehave")
      : child_(group, [&] {
          argv.insert(argv.begin(), program);
          return execute(argv);
        }) {
    write_.reset();
    char byte = 0;
    pollfd ready{.fd = read_.get(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, kReadyDeadline.count()) != 1 || read(read_.get(), &byte, 1) != 1)
      throw std::runtime_error("misbehave did not get ready");
  }
  pid_t pid() const { return child_.pid(); }
  int wait() { return child_.wait(); }

 private:
  struct Pipe {
    Pipe() {
      if (pipe2(ends, O_CLOEXEC) < 0) throw std::runtime_error("pipe");
    }
    int ends[2];
  };

  int execute(std::vector<std::string>& argv) const {
    std::vector<char*> pointers;
    for (std::string& argument : argv) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    if (dup2(write_.get(), STDOUT_FILENO) < 0) return 126;
    execv(CORRAL_MISBEHAVE, pointers.data());
    return 127;
  }

  Pipe pipe_;
  UniqueFd read_{pipe_.ends[0]}, write_{pipe_.ends[1]};
  Child child_;
};

// What look() sees in the group, by pid.
inline std::map<pid_t, run::Process> look_at(const Group& group, const Lineage& lineage = {}) {
  std::map<pid_t, run::Process> found;
  for (run::Process& process : look(must(members(group)), "/top", lineage))
    found.emplace(process.pid, std::move(process));
  return found;
}

class ProcessesTest : public CgroupTest {
 protected:
  // The one process of the group, described.
  run::Process only() const {
    auto found = look_at(group());
    if (found.size() != 1)
      throw std::runtime_error("not one process but " + std::to_string(found.size()));
    describe(found.begin()->second);
    return found.begin()->second;
  }
};

}  // namespace corral::cgroup
