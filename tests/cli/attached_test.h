#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/pty.h"
#include "harness/temp_dir.h"

namespace corral::cli {

using Words = std::vector<std::string>;

// Does the same twice: with a command as it is, and with the prefix before it. In both cases the
// command is called through a script of the same name, `p`, so that what a shell says of a job is
// the same, too.
class AttachedTest : public testing::Test {
 protected:
  AttachedTest();

  // The words of the prefix: `attach_alone`, or `corralctl run` where there is a service.
  void set_prefix(const Words& prefix);

  // A session of an interactive bash on a terminal, in which `act` types and expects. What was
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

  const harness::TempDir& temp() const { return temp_; }

 private:
  std::string path_of(const std::string& which) const;
  harness::TempDir temp_;
  unsigned scripts_ = 0;
};

}  // namespace corral::cli
