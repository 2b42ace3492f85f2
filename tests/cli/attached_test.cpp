#include "cli/attached_test.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "cgroup/processes.h"
#include "cli/printable.h"
#include "harness/must.h"

namespace corral::cli {
namespace {

using harness::kDeadline;
namespace fs = std::filesystem;

constexpr std::array kBoth = {"plain", "attached"};

void write_program(const std::string& file, const std::string& script) {
  std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
  fs::permissions(file, fs::perms{0755});
}

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::string slurp_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

AttachedTest::AttachedTest() : corralctl_{harness::corralctl_path(), "--bus=" + stack_.address()} {
  for (const char* which : kBoth) fs::create_directory(temp_ / which);
  write_prefix();
}

void AttachedTest::set_options(const Words& options) {
  options_ = options;
  write_prefix();
}

void AttachedTest::write_prefix() const {
  const Words prefix = joined(joined(joined(corralctl_, {"run"}), options_), {"--"});
  write_program(temp_ / "plain" + "/p", "exec \"$@\"");
  write_program(temp_ / "attached" + "/p", "exec " + command_text(prefix) + " \"$@\"");
}

void AttachedTest::open_to_nobody() {
  fs::permissions(temp_.path(), fs::perms{0755});
}

void AttachedTest::be_nobody(const Words& around) {
  open_to_nobody();
  const passwd& nobody = *getpwnam("nobody");
  const auto group = stack_.scratch().make("user");
  for (const char* file : {"", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"})
    EXPECT_EQ(chown((group.name() + file).c_str(), nobody.pw_uid, nobody.pw_gid), 0) << file;
  // The build directory may lie where only its owner gets to.
  for (const char* name : {"corralctl", "corrald", "corral-init"})
    fs::copy_file(fs::path(harness::corralctl_path()).parent_path() / name, temp_ / name);
  const std::string runtime = temp_ / "runtime";
  fs::create_directory(runtime);
  EXPECT_EQ(chown(runtime.c_str(), nobody.pw_uid, nobody.pw_gid), 0);
  corralctl_ = {temp_ / "corralctl", "--embedded"};
  write_prefix();
  const std::string uid = std::to_string(nobody.pw_uid), gid = std::to_string(nobody.pw_gid);
  around_ = joined(around, {"/bin/sh", "-c", "echo 0 >\"$0\"/cgroup.procs && exec \"$@\"",
                            group.name(), "setpriv", "--reuid=" + uid, "--regid=" + gid,
                            "--clear-groups", "env", "XDG_RUNTIME_DIR=" + runtime});
}

void AttachedTest::TearDown() {
  if (!fs::exists(temp_ / "runtime")) return;
  // Where corralctl was killed its host is still at it.
  const auto group =
      harness::must(cgroup::Group::open(AT_FDCWD, stack_.scratch().path() + "/user"));
  EXPECT_TRUE(harness::eventually([&] {
    return harness::must(cgroup::members(group)).empty() && fs::is_empty(temp_ / "runtime") &&
           harness::directories_below(group.name()).empty();
  }));
}

void AttachedTest::add_program(const std::string& name, const std::string& script) {
  for (const std::string which : kBoth) write_program(temp_ / which + "/" + name, script);
}

std::string AttachedTest::path_of(const std::string& which) const {
  return temp_ / which + ":" + std::getenv("PATH");
}

std::string AttachedTest::fresh_directory(const std::string& which) {
  std::string directory = temp_ / which + std::to_string(directories_++);
  fs::create_directory(directory);
  fs::permissions(directory, fs::perms{0777});  // whoever runs it writes there
  return directory;
}

void AttachedTest::expect_same_session(const std::function<bool(Pty&)>& act,
                                       const std::string& but) {
  std::vector<std::string> shown;
  for (const std::string which : kBoth) {
    Pty pty(joined(around_, {"env", "PATH=" + path_of(which), "TMP=" + fresh_directory(which),
                             "bash", "--norc", "--noprofile", "--noediting", "-i"}));
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
  const std::string directory = fresh_directory(which);
  const std::string streams = "exec </dev/null >$TMP/out 2>$TMP/err; cd $TMP; . ./script";
  std::ofstream(directory + "/script") << script << "\n";
  harness::Child child({.argv = joined(around_, {"setsid", "/bin/bash", "-c", streams}),
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
