#pragma once

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "cgroup_test.h"
#include "init_client.h"

namespace corral::test {

using cgroup::must;

struct SpawnerOptions {
  std::vector<std::string> wrapper = {};      // in front of the command line: strace …
  std::function<void()> before_exec = [] {};  // in the child; async-signal-safe only
  std::vector<std::string> arguments = {};    // at the end
  std::string socket = "spawner";             // below the test's directory
};

// A spawner in a cgroup of its own, and a directory for sockets and streams. Ends with the test.
class InitTest : public cgroup::CgroupTest {
 protected:
  void SetUp() override {
    char name[] = "/tmp/corral-init-XXXXXX";
    directory_ = mkdtemp(name);
    CgroupTest::SetUp();
    if (!IsSkipped()) service_.emplace(make("service"));
  }
  void TearDown() override {
    programs_.clear();
    service_.reset();
    CgroupTest::TearDown();
    std::filesystem::remove_all(directory_);
  }

  // Returns when the spawner is ready.
  cgroup::Child& start_spawner(const SpawnerOptions& options = {}) {
    std::vector<std::string> command = options.wrapper;
    command.insert(command.end(), {CORRAL_INIT, "--spawn", file(options.socket)});
    command.insert(command.end(), options.arguments.begin(), options.arguments.end());
    return start_program(std::move(command), options.before_exec);
  }
  // Executes a program in service() and returns when it is ready; throws when it exits instead.
  cgroup::Child& start_program(
      std::vector<std::string> command, const std::function<void()>& before_exec = [] {}) {
    constexpr int kReadyFd = 100;  // far from what it opens by itself
    command.push_back("--ready-fd=" + std::to_string(kReadyFd));
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) throw std::runtime_error("pipe");
    const UniqueFd ready(ends[0]);
    UniqueFd theirs(ends[1]);
    programs_.push_back(std::make_unique<cgroup::Child>(*service_, [&] {
      if (dup2(theirs.get(), kReadyFd) < 0) return 126;
      before_exec();
      execvp(argv[0], argv.data());
      return 127;
    }));
    theirs.reset();
    char byte = 0;
    if (!readable(ready.get(), 20000) || read(ready.get(), &byte, 1) != 1)
      throw std::runtime_error(command.front() + " does not get ready");
    return *programs_.back();
  }

  const cgroup::Group& service() const { return *service_; }
  const std::string& directory() const { return directory_; }
  std::string socket() const { return directory_ + "/spawner"; }
  std::string file(const std::string& name) const { return directory_ + "/" + name; }
  RunDir make_run(const std::string& name = "run") const { return RunDir(group(), name); }

  // Starts `argv` in a run, with both outputs to the file "output".
  Reply start(const RunDir& run, std::vector<std::string> argv) const {
    const Stream output{CORRAL_STREAM_APPEND, file("output"), -1};
    return run.start(socket(), {.argv = std::move(argv), .streams = {Stream{}, output, output}});
  }
  // A start that fails as `outcome` says ("exec: 2") and leaves nobody.
  void expect_failure(const Spec& spec, const std::string& outcome) const {
    const RunDir run = make_run("failing");
    const Reply reply = run.start(socket(), spec);
    EXPECT_EQ(reply.outcome(), outcome);
    EXPECT_TRUE(reply.fds.empty());
    EXPECT_TRUE(run.becomes_empty());
    EXPECT_FALSE(run.exit());
    remove("failing");
  }
  void remove(const std::string& name) const {
    const cgroup::Group run = must(cgroup::Group::open(group().fd(), name));
    EXPECT_TRUE(eventually([&] {
      return cgroup::remove_tree(group().fd(), name, run.id()).value_or(cgroup::Removed::busy) !=
             cgroup::Removed::busy;
    }));
  }

 private:
  std::string directory_;
  std::optional<cgroup::Group> service_;
  std::vector<std::unique_ptr<cgroup::Child>> programs_;
};

}  // namespace corral::test
