#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "cli/cli_test.h"
#include "harness/child.h"
#include "harness/eventually.h"
#include "harness/stack.h"

namespace corral::cli {
namespace {

using Examples = CliTest;

// The address that the example says to export; "" as long as it has said nothing.
std::string address_in(const std::string& output) {
  const auto at = output.find("CORRAL_BUS_ADDRESS="), end = output.find('\n', at);
  return at == output.npos || end == output.npos ? "" : output.substr(at, end - at);
}

TEST_F(Examples, TheServiceRunsUntilItIsToldToStop) {
  const std::string log = temp() / "service.log";
  const auto build = std::filesystem::path(harness::corralctl_path()).parent_path().parent_path();
  harness::Child service(
      {.argv = {CORRAL_EXAMPLES "/service", build}, .log = log, .group = scratch().group().fd()});
  ASSERT_TRUE(harness::eventually([&] { return !address_in(slurp(log)).empty(); })) << slurp(log);
  const Words call = {"run", "--detach", "--id=r1", "--", "/bin/true"};
  Words command = {"/usr/bin/env", address_in(slurp(log)), harness::corralctl_path()};
  command.insert(command.end(), call.begin(), call.end());
  ASSERT_TRUE(harness::eventually([&] { return run(command).status == 0; })) << slurp(log);
  service.signal(SIGTERM);
  EXPECT_TRUE(service.wait(harness::kDeadline)) << slurp(log);
}

}  // namespace
}  // namespace corral::cli
