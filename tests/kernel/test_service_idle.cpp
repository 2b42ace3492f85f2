#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "base/parse.h"
#include "harness/child.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral {
namespace {

using harness::must;

constexpr auto kIdle = std::chrono::seconds{3};

#ifndef __SANITIZE_THREAD__  // its runtime has a thread of its own, which polls
// What strace(1) saw of the process in that time, a line each; a call that it found under way
// counts only when it returned.
std::vector<std::string> system_calls(const harness::Stack& stack) {
  const auto trace = stack.temp() / "idle.strace";
  const std::string seconds = std::to_string(kIdle.count());
  harness::Child strace({.argv = {"timeout", seconds, "strace", "-f", "-qq", "-o", trace, "-p",
                                  std::to_string(stack.corrald_pid())}});
  EXPECT_TRUE(strace.wait(kIdle + harness::kDeadline));
  std::vector<std::string> calls;
  const std::string text = must(base::read_at(AT_FDCWD, trace));
  for (const auto line : base::split(text, '\n')) {
    const bool under_way = line.find("<unfinished ...>") != std::string_view::npos ||
                           line.find("<detached ...>") != std::string_view::npos;
    if (!under_way) calls.emplace_back(line);
  }
  return calls;
}

class ServiceIdle : public testing::Test {
 protected:
  harness::Stack stack_;
};

TEST_F(ServiceIdle, MakesNoSystemCallWhileRunsLive) {
  for (int i = 0; i < 20; ++i) {
    must(stack_.client().start_run("r" + std::to_string(i), {"/bin/sleep", "100"}));
  }
  (void)system_calls(stack_);  // the store's sync and the janitor come to an end meanwhile
  EXPECT_EQ(system_calls(stack_), std::vector<std::string>{});
  for (int i = 0; i < 20; ++i) must(stack_.client().end_run("r" + std::to_string(i)));
}
#endif

}  // namespace
}  // namespace corral
