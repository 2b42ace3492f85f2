#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/child.h"
#include "harness/scratch_group.h"
#include "harness/temp_dir.h"

namespace corral::cli {

using Words = std::vector<std::string>;

// How a program ended, as a shell has it, and what it wrote.
struct Ran {
  int status = -1;  // 128 + signal
  std::string out, err;
};

// Runs corralctl in a cgroup and a directory of the test's own. At the end neither a process nor a
// cgroup nor a file of an embedded service may be left.
class CliTest : public testing::Test {
 protected:
  void TearDown() override;

  // Starts the program with its outputs in files; collect() waits for it.
  harness::Child start(const Words& argv);
  Ran collect(harness::Child& child);
  Ran run(const Words& argv);
  // corralctl with these words.
  Ran corralctl(Words words);
  // The command line of `corralctl --embedded run OPTIONS -- ARGV`, its cgroups below scratch().
  Words embedded(const Words& options, const Words& argv) const;

  const harness::TempDir& temp() const { return temp_; }
  const harness::ScratchGroup& scratch() const { return scratch_; }

 private:
  harness::TempDir temp_;
  harness::ScratchGroup scratch_;
  unsigned started_ = 0;
};

// With an embedded service that runs beside the test: that of the run "host".
class HostTest : public CliTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  // corralctl on the host's bus.
  Ran ctl(Words words);
  // `run --detach` of `argv` as `id`; fails the test where that fails.
  void detach(const std::string& id, const Words& argv);
  // What ctl() wrote with --json=short.
  nlohmann::json ctl_json(Words words);
  const std::string& address() const { return address_; }

 private:
  std::optional<harness::Child> host_;
  std::string address_;
};

// The whole text of a file, "" where there is none.
std::string slurp(const std::string& path);

// The pid of the child of `parent` that is called `name` (as in /proc/PID/comm); 0 where there is
// none.
pid_t child_named(pid_t parent, const std::string& name);

}  // namespace corral::cli
