#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral {
namespace {

using harness::Dict;
using harness::must;
using harness::value;

Dict options() {
  return {{"Environment", std::vector<std::string>{"PATH=/usr/bin:/bin"}},
          {"GraceUSec", uint64_t{300'000}}};
}

// What a process inside a run may ask of the service: the driver calls it with busctl.
class ServiceFromInside : public testing::Test {
 protected:
  // The driver makes the call, writes what it was told into a file, and stays.
  std::string told(const std::string& run, const std::string& call) {
    const auto answer = stack_.temp() / (run + ".answer");
    const std::string script = "busctl --address=" + stack_.address() +
                               " call -- org.corral.Corral1 /org/corral/Corral1"
                               " org.corral.Corral1.Manager " +
                               call + " >" + answer + ".new 2>&1; mv " + answer + ".new " + answer +
                               "; exec sleep 100";
    must(stack_.client().start_run(run, {"sh", "-c", script}, options()));
    EXPECT_TRUE(harness::eventually([&] { return std::filesystem::exists(answer); }));
    return must(base::read_at(AT_FDCWD, answer));
  }

  harness::Stack stack_;
};

TEST_F(ServiceFromInside, ARunDoesNotEndItself) {
  const auto answer = told("self", "EndRun 'sa{sv}' self 0");
  EXPECT_NE(answer.find("would kill the caller"), std::string::npos) << answer;
  EXPECT_TRUE(stack_.client().wait_state("self", "running"));
  must(stack_.client().end_run("self"));
}

TEST_F(ServiceFromInside, ARunDoesNotKillAllOfItselfBySignalEither) {
  const auto answer = told("self", "SignalRun 'ssia{sv}' self all 9 0");
  EXPECT_NE(answer.find("would kill the caller"), std::string::npos) << answer;
  EXPECT_TRUE(stack_.client().wait_state("self", "running"));
  must(stack_.client().end_run("self"));
}

TEST_F(ServiceFromInside, ARunTouchesNoOtherRun) {
  must(stack_.client().start_run("other", {"sleep", "100"}, options()));
  const auto ended = told("a", "EndRun 'sa{sv}' other 0");
  EXPECT_NE(ended.find("may act on nothing outside it"), std::string::npos) << ended;
  const auto signalled = told("b", "SignalRun 'ssia{sv}' other all 9 0");
  EXPECT_NE(signalled.find("may act on nothing outside it"), std::string::npos) << signalled;
  EXPECT_TRUE(stack_.client().wait_state("other", "running"));
  for (const char* run : {"a", "b", "other"}) must(stack_.client().end_run(run));
}

TEST_F(ServiceFromInside, AProcessLearnsItsOwnRun) {
  const auto answer = told("me", "GetRunByPID u 0");
  EXPECT_NE(answer.find("\"me\""), std::string::npos) << answer;
  must(stack_.client().end_run("me"));
}

}  // namespace
}  // namespace corral
