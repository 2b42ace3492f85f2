#include "cli/attached_test.h"

#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "cli/printable.h"

namespace corral::cli {
namespace {

using harness::kDeadline;

}  // namespace

std::string slurp_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

AttachedTest::AttachedTest() {
  set_options({});
}

void AttachedTest::set_options(const Words& options) {
  Words prefix{harness::corralctl_path(), "--bus=" + stack_.address(), "run"};
  prefix.insert(prefix.end(), options.begin(), options.end());
  prefix.emplace_back("--");
  for (const std::string which : {"plain", "attached"}) {
    std::filesystem::create_directories(temp_ / which);
    const std::string file = temp_ / which + "/p";
    std::ofstream(file) << "#!/bin/sh\nexec " << (which == "attached" ? command_text(prefix) : "")
                        << " \"$@\"\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
}

std::string AttachedTest::path_of(const std::string& which) const {
  return temp_ / which + ":" + std::getenv("PATH");
}

void AttachedTest::expect_same_session(const std::function<bool(Pty&)>& act,
                                       const std::string& but) {
  std::vector<std::string> shown;
  for (const std::string which : {"plain", "attached"}) {
    Pty pty(
        {"env", "PATH=" + path_of(which), "bash", "--norc", "--noprofile", "--noediting", "-i"});
    const bool acted = pty.expect("$ ") && act(pty);
    ASSERT_TRUE(acted) << which << " shows:\n" << pty.shown();
    pty.type("exit 9\n");
    const int status = pty.finish();
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9) << which << ":\n" << pty.shown();
    // The number that bash shows of a job in the background.
    const auto text = std::regex_replace(pty.shown(), std::regex("(\\[1\\]) [0-9]+"), "$1");
    shown.push_back(std::regex_replace(text, std::regex(but), ""));
  }
  EXPECT_EQ(shown[0], shown[1]);
}

AttachedTest::Ran AttachedTest::run_script(const std::string& which, const std::string& script) {
  const std::string directory = temp_ / which + std::to_string(scripts_++);
  std::filesystem::create_directory(directory);
  const std::string streams = "exec </dev/null >$TMP/out 2>$TMP/err; cd $TMP; . ./script";
  std::ofstream(directory + "/script") << script << "\n";
  harness::Child child({.argv = {"setsid", "/bin/bash", "-c", streams},
                        .environment = {"PATH=" + path_of(which), "TMP=" + directory}});
  const auto status = child.wait(3 * kDeadline);  // a hundred runs are one script
  // The number that bash shows of what a signal ended.
  const std::regex number("(line [0-9]+: +)[0-9]+ ");
  return {status.value_or(-1), slurp_file(directory + "/out"),
          std::regex_replace(slurp_file(directory + "/err"), number, "$1")};
}

void AttachedTest::expect_same_script(const std::string& script) {
  const Ran plain = run_script("plain", script);
  const Ran attached = run_script("attached", script);
  EXPECT_NE(plain.status, -1) << script;
  EXPECT_EQ(plain.status, attached.status) << script;
  EXPECT_EQ(plain.out, attached.out) << script;
  EXPECT_EQ(plain.err, attached.err) << script;
}

}  // namespace corral::cli
