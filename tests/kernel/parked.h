#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "cgroup/clone.h"
#include "cgroup/group.h"
#include "harness/must.h"

namespace corral::test {

// A child that a caller of OpenRun brings: it waits for the word, then executes. Killed and reaped
// at the end, if not before.
class Parked {
 public:
  // Born in the cgroup `work`; "": where its parent is.
  explicit Parked(const std::vector<std::string>& argv, const std::string& work = "") {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    go_ = UniqueFd(ends[1]);
    const UniqueFd word(ends[0]);
    const auto body = [&] { return wait_and_execute(word.get(), argv); };
    if (work.empty()) {
      pid_ = fork();
      if (pid_ == 0) _exit(body());
    } else {
      pid_ = harness::must(
                 cgroup::clone_into(harness::must(cgroup::Group::open(AT_FDCWD, work)), body))
                 .pid();
    }
  }
  Parked(const Parked&) = delete;
  Parked& operator=(const Parked&) = delete;
  ~Parked() {
    if (reaped_) return;
    (void)kill(pid_, SIGKILL);  // a child of ours that was not reaped: nobody else's number
    reap();
  }

  pid_t pid() const { return pid_; }
  void release() { go_.reset(); }
  // How it went, as ReportExit has it; it stays a zombie.
  std::pair<std::string, int32_t> exit() const {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) < 0)
      throw std::runtime_error("waitid");
    const char* word = info.si_code == CLD_EXITED   ? "exited"
                       : info.si_code == CLD_DUMPED ? "dumped"
                                                    : "killed";
    return {word, info.si_status};
  }
  void reap() {
    (void)waitpid(pid_, nullptr, 0);
    reaped_ = true;
  }

 private:
  int wait_and_execute(int word, const std::vector<std::string>& argv) {
    go_.reset();  // its own end: else it would wait for itself
    char byte = 0;
    (void)!read(word, &byte, 1);
    std::vector<char*> words;
    for (const auto& text : argv) words.push_back(const_cast<char*>(text.c_str()));
    words.push_back(nullptr);
    (void)execvp(words[0], words.data());
    return 127;
  }

  UniqueFd go_;
  pid_t pid_ = 0;
  bool reaped_ = false;
};

}  // namespace corral::test
