#pragma once

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "cgroup/escapes.h"
#include "cgroup/kinship.h"
#include "cgroup/proc_stat.h"
#include "processes_test.h"

namespace corral::cgroup {

// Processes that say their pids, each to be taken once.
class Pids {
 public:
  Pids() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) throw std::runtime_error("pipe");
    read_ = UniqueFd(ends[0]);
    write_ = UniqueFd(ends[1]);
  }
  // In the process.
  void tell() const {
    const pid_t pid = getpid();
    (void)!write(write_.get(), &pid, sizeof pid);
  }
  // In the test.
  pid_t next() const {
    pid_t pid = 0;
    pollfd ready{.fd = read_.get(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, std::chrono::milliseconds(kDeadline).count()) != 1 ||
        read(read_.get(), &pid, sizeof pid) != sizeof pid)
      throw std::runtime_error("a process did not get ready");
    return pid;
  }
  int fd() const { return write_.get(); }

 private:
  UniqueFd read_, write_;
};

// A shell with this environment alone: it says its pid and waits.
inline int execute_with(const Pids& pids, std::vector<std::string> environment) {
  alarm(60);  // survives execve(2)
  if (dup2(pids.fd(), STDOUT_FILENO) < 0) return 126;
  // A pipe of its own to wait at: it holds both ends.
  int ends[2];
  if (pipe(ends) < 0 || dup2(ends[0], STDIN_FILENO) < 0) return 126;
  std::vector<char*> words;
  for (std::string& entry : environment) words.push_back(entry.data());
  words.push_back(nullptr);
  const pid_t pid = getpid();
  std::string script = "printf '";
  for (size_t i = 0; i < sizeof pid; ++i)
    script += fmt::format("\\{:03o}", (static_cast<unsigned>(pid) >> (8 * i)) & 0xff);
  script += "'; read _";
  std::string shell = "sh", option = "-c";
  char* argv[] = {shell.data(), option.data(), script.data(), nullptr};
  (void)execve("/bin/sh", argv, words.data());
  return 127;
}

inline bool move_to(const Group& group) {
  return base::write_at(group.fd(), "cgroup.procs", "0").has_value();
}

inline pid_t read_ppid(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? stat->ppid : -1;
}

inline Kinship pass(size_t slice = 64) {
  Kinship kinship = must(Kinship::open());
  while (!kinship.step(slice)) continue;
  return kinship;
}

inline run::ProcessName name_of(pid_t pid) {
  return {static_cast<uint32_t>(pid), start_time(pid).value_or(0)};
}

// A run below the test's cgroup: runs/<run>/{work,init,runs}, and a group beside them. The test is
// a subreaper, so that whoever gets away from the run comes to it and not to pid 1.
class KinshipTest : public ProcessesTest {
 protected:
  void SetUp() override {
    ProcessesTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    groups_.emplace("runs", make("runs"));
    add("run", "runs", "a." + invocation_);
    add("work", "run", "work");
    add("init", "run", "init");
    add("nested", "run", "runs");
    groups_.emplace("outside", make("outside"));
    pids_.emplace();
  }

  void TearDown() override {
    supervisor_.reset();
    groups_.clear();
    pids_.reset();
    ProcessesTest::TearDown();
    while (waitpid(-1, nullptr, __WALL) > 0) continue;  // all were killed
  }

  void add(const std::string& name, const std::string& parent, const std::string& directory) {
    groups_.emplace(name, must(Group::create(groups_.at(parent).fd(), directory)));
  }
  const Group& at(const std::string& name) const { return groups_.at(name); }
  const Pids& pids() const { return *pids_; }

  // A supervisor in the group `where`, and its driver in work/ that says its pid and calls `body`.
  void start(const std::function<int()>& body, bool subreaper = true,
             const std::string& where = "init") {
    supervisor_.emplace(at(where), [&, subreaper] {
      if (subreaper && prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return 1;
      if (!clone_into(at("work"), [&] {
            pids().tell();
            return body();
          }))
        return 2;
      return linger();
    });
    driver_ = name_of(pids().next());
  }
  const Child& supervisor() const { return *supervisor_; }
  pid_t driver() const { return static_cast<pid_t>(driver_.pid); }

  Ties ties(bool adopts = true) const {
    return {.id = *run::RunId::parse("a"),
            .invocation = *run::Invocation::parse(invocation_),
            .uid = getuid(),
            .runs = must(path_of(at("runs"))),
            .directory = must(path_of(at("run"))),
            .driver = driver_,
            .supervisor = name_of(supervisor_->pid()),
            .adopts = adopts};
  }

  std::vector<std::string> variables() const {
    return {"CORRAL_RUN_ID=a", "CORRAL_INVOCATION=" + invocation_};
  }

  // A process outside, of nobody's kin, with this environment.
  pid_t start_outside(const std::vector<std::string>& environment, uid_t uid = 0) {
    start_orphan([&, uid] {
      if (uid != 0 && setresuid(uid, uid, uid) != 0) return 1;
      return execute_with(pids(), environment);
    });
    return pids().next();
  }
  void start_orphan(const std::function<int()>& body) {
    Child parent(at("outside"), [&] {
      if (setsid() < 0) return 1;
      return fork() == 0 ? body() : 0;
    });
    ASSERT_EQ(parent.wait(), 0);
  }

  // Which rule found whom.
  static std::map<pid_t, std::string> escaped(const Ties& ties) {
    Kinship kinship = pass();
    EscapeSearch search(kinship, ties, {});
    while (!search.step(16)) continue;
    std::map<pid_t, std::string> found;
    for (const auto& process : search.take()) found.emplace(process.pid, process.rule);
    return found;
  }
  static std::optional<bool> foreign(const Ties& ties, pid_t member) {
    Kinship kinship = pass();
    return is_foreign(kinship, ties, member);
  }

 private:
  // Another run of this test may be under way, and its processes are looked at as well.
  const std::string invocation_ =
      fmt::format("{:016x}{:016x}", getpid(), start_time(getpid()).value_or(0));
  std::map<std::string, Group> groups_;
  std::optional<Pids> pids_;
  std::optional<Child> supervisor_;
  run::ProcessName driver_;
};

}  // namespace corral::cgroup
