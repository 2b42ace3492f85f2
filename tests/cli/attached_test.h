#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/pty.h"
#include "harness/stack.h"
#include "harness/temp_dir.h"

namespace corral::cli {

using Words = std::vector<std::string>;

// Does the same twice: with a command as it is, and with the prefix before it. In both cases the
// command is called through a script of the same name, `p`, so that what a shell says of a job is
// the same, too.
class AttachedTest : public testing::Test {
 protected:
  AttachedTest();
  void TearDown() override;

  // `corralctl run` with these options on the way.
  void set_options(const Words& options);
  // Each shell is started by these words, as by env(1).
  void set_around(const Words& around) { around_ = around; }
  // The account "nobody" may use the programs and the directories, too.
  void open_to_nobody();
  // From now on it does all, with a service of its own (--embedded) in a cgroup that is delegated
  // to it. `around` goes in front of the shells while they are root's.
  void be_nobody(const Words& around);
  // A program of that name in the PATH of both.
  void add_program(const std::string& name, const std::string& script);

  // A session of an interactive bash on a terminal, in which `act` types and expects; $TMP is a
  // directory of its own. What was
  // shown and the status must be the same, but for what matches `but`. `act` returns false where
  // something did not come.
  void expect_same_session(const std::function<bool(Pty&)>& act, const std::string& but = "^$");

  struct Ran {
    int status = -1;  // of waitpid(2)
    std::string out, err;
  };
  // A script of /bin/bash, without a terminal; $TMP is a directory of its own.
  Ran run_script(const std::string& which, const std::string& script);
  void expect_same_script(const std::string& script);

  harness::Stack& stack() { return stack_; }
  const harness::TempDir& temp() const { return temp_; }

 private:
  std::string path_of(const std::string& which) const;
  std::string fresh_directory(const std::string& which);
  harness::Stack stack_;
  void write_prefix() const;
  harness::TempDir temp_;
  Words corralctl_, options_, around_;  // as what and with what `p` puts in front
  unsigned directories_ = 0;
};

// The whole text of a file, "" where there is none.
std::string slurp_file(const std::string& path);

}  // namespace corral::cli
