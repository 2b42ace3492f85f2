#pragma once

#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/attached_test.h"
#include "harness/must.h"

namespace corral::cli {

// corralctl with a driver that says `up` and then reads a command from a FIFO of its own.
class WithTheService : public AttachedTest {
 protected:
  // Fails the test where the driver does not get up. Both outputs of corralctl are in log().
  harness::Child start(const Words& options, const std::string& script) {
    const std::string driver = "echo >up; " + script;
    Words argv{"/bin/sh",
               "-c",
               "cd \"$0\" && exec \"$@\"",
               temp().path(),
               harness::corralctl_path(),
               "--bus=" + stack().address(),
               "run",
               "--id=r"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"--", "/bin/sh", "-c", driver});
    harness::Child child({.argv = argv, .log = log_file()});
    EXPECT_TRUE(harness::eventually([&] { return std::filesystem::exists(temp() / "up"); }))
        << log();
    return child;
  }
  int status_of(harness::Child& child) { return child.wait(2 * harness::kDeadline).value_or(-1); }
  static int code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

  std::string log_file() const { return temp() / "log"; }
  std::string log() const { return slurp_file(log_file()); }
  // The one that --report=report asks for.
  nlohmann::json report();
  template <typename T>
  T reported(const std::string& key) {
    return harness::value<T>(harness::must(stack().client().get_report("r")), key);
  }
  // The report as the service has it.
  nlohmann::json served_report(const std::string& id);
  std::string command(const Words& words) {
    std::string text = harness::corralctl_path() + " --bus=" + stack().address();
    for (const std::string& word : words) text += " " + word;
    return text;
  }
  bool ended() { return stack().client().wait_state("r", "ended"); }
  void release() { std::ofstream(temp() / "go") << "\n"; }
};

inline constexpr const char* kWaitForGo = "until [ -s go ]; do sleep 0.02; done; exit 7";

}  // namespace corral::cli
