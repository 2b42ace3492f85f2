#include <gmock/gmock.h>
#include <pwd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/attached_test.h"

namespace corral::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kCtrlC = "\003";
constexpr const char* kCtrlZ = "\032";

struct Way {
  const char* name;
  bool nobody;           // calls sudo, with a service of its own; else root does
  const char* defaults;  // use_pty: sudo puts a terminal between, and passes on what comes to it
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

// The machine's own setuid sudo, in a mount namespace with a sudoers(5) of the test's own.
class WithSudo : public AttachedTest, public testing::WithParamInterface<Way> {
 protected:
  WithSudo() {
    open_to_nobody();
    const std::string file = temp() / "sudoers";
    std::ofstream(file) << "Defaults " << GetParam().defaults
                        << ", !syslog\nroot, nobody ALL = (ALL) NOPASSWD: ALL\n";
    fs::permissions(file, fs::perms{0440});
    const Words around{
        "unshare", "-m", "/bin/sh", "-c", "mount --bind \"$0\" /etc/sudoers && exec \"$@\"", file};
    if (GetParam().nobody)
      be_nobody(around);
    else
      set_around(around);
  }
};

// Others may not signal a process that became root's.
class RootWithSudo : public WithSudo {};

constexpr Way kRoot{"Root", false, "!use_pty"}, kRootPty{"RootThroughAPty", false, "use_pty"};

INSTANTIATE_TEST_SUITE_P(As, WithSudo,
                         testing::Values(kRoot, kRootPty, Way{"Nobody", true, "!use_pty"},
                                         Way{"NobodyThroughAPty", true, "use_pty"}),
                         [](const auto& way) { return std::string(way.param.name); });
INSTANTIATE_TEST_SUITE_P(As, RootWithSudo, testing::Values(kRoot, kRootPty),
                         [](const auto& way) { return std::string(way.param.name); });

TEST_P(WithSudo, TheRightsAndTheExitAreThoseOfTheCommand) {
  expect_same_script("id -u; p sudo -n id -u; p sudo -n -u sync id -un; echo $?");
  expect_same_script("p sudo -n sh -c 'exit 7'; echo $?; p sudo -n nonexistent; echo $?");
  for (const char* signal : {"TERM", "INT", "KILL", "USR1"})
    expect_same_script(std::string("p sudo -n sh -c 'kill -") + signal + " $$'; echo $?");
  expect_same_script(
      "echo in | p sudo -n cat | cat; echo ${PIPESTATUS[@]}; p sudo -n cat <&-; echo $?");
  expect_same_script("p sudo -n sh -c 'echo out; echo err >&2; ls /proc/self/fd' 7>&1");
  const Ran ran = run_script("attached", "id -u; p sudo -n id -u");
  EXPECT_EQ(ran.out, GetParam().nobody ? "65534\n0\n" : "0\n0\n") << ran.err;
}

TEST_P(WithSudo, TheTerminalIsTheCommands) {
  expect_same_session([](Pty& pty) {
    pty.type("stty rows 33 cols 77; p sudo -n sh -c 'id -u; stty size; exit 7'\n");
    if (!pty.expect("0\r\n33 77\r\n") || !pty.expect("$ ")) return false;
    pty.type("echo $?; p sudo -n sh -c 'kill -USR1 $$'\n");
    if (!pty.expect("7\r\n") || !pty.expect("User defined") || !pty.expect("$ ")) return false;
    pty.type("echo $?; stty -a | grep -c -- ' icanon'\n");
    return pty.expect("138\r\n1\r\n$ ");
  });
}

TEST_P(WithSudo, CtrlCReachesTheCommand) {
  expect_same_session([](Pty& pty) {
    pty.type("p sudo -n sh -c 'echo u\"\"p; exec sleep 100'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("$ ")) return false;
    pty.type(
        "echo $?; p sudo -n bash -c 'trap \"echo in\"t INT; echo u\"\"p; read x; read x; echo got "
        "$x'\n");
    if (!pty.expect("130\r\n") || !pty.expect("up\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("int\r\n")) return false;
    pty.type("hello\nworld\n");
    return pty.expect("got world\r\n$ ") || pty.expect("got hello\r\n$ ");
  });
}

TEST_P(WithSudo, CtrlZStopsAndFgContinues) {
  expect_same_session([](Pty& pty) {
    // sudo makes the terminal raw before it continues the command, which says so. It may do that
    // more than once, and a signal may interrupt the saying.
    pty.type(
        "p sudo -n perl -e '$SIG{CONT} = sub { 1 until $said ||= syswrite STDOUT, \"on\\n\" }; "
        "syswrite STDOUT, \"u\" . \"p\\n\"; $x = <STDIN>; print \"got $x\"; exit 7'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlZ);
    if (!pty.expect("Stopped") || !pty.expect("$ ")) return false;
    pty.type("echo $?; fg\n");
    if (!pty.expect("148\r\n") || !pty.expect("on\r\n")) return false;
    pty.type("hello\n");
    if (!pty.expect("got hello\r\n$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("7\r\n$ ");
  });
}

// A signal that corralctl passes on comes from its own group. sudo drops those of the group that it
// leads, and takes SIGINT and SIGQUIT only where they were sent with kill(2).
TEST_P(RootWithSudo, ASignalToThePidReachesTheCommand) {
  const std::string start =
      "mkfifo f; p sudo -n sh -c 'echo >f; exec sleep 600' & pid=$!; read x <f; ";
  for (const std::string signal : {"TERM", "INT", "QUIT", "HUP", "USR1"}) {
    const std::string end = "kill -" + signal + " $pid; wait $pid; echo $?";
    expect_same_script("ulimit -c 0; set -m; " + start + end);
  }
  expect_same_script(start + "kill -TERM $pid; wait $pid; echo $?");  // from the same group
  expect_same_script("set -m; " + start + "kill -TERM -$pid; wait $pid; echo $?");
}

TEST_P(WithSudo, WhatRootLeavesBehindIsCountedAndEnded) {
  set_options({"--report=report", "--fail-on-leak", "--grace=100ms"});
  const Ran ran = run_script(
      "attached", "p sudo -n sh -c 'setsid sleep 600 & exit 0' >&-; echo $?; cat report");
  EXPECT_EQ(ran.out.substr(0, 2), "3\n") << ran.err;
  const auto report = json::parse(ran.out.substr(2), nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.out;
  EXPECT_EQ(report["LeaksFound"], 1);
  EXPECT_EQ(report["EndReason"], "driver-exited");
  EXPECT_THAT(ran.err, HasSubstr("sleep 600"));
}

TEST_P(WithSudo, RootsProcessesAreEndedWithACorralctlThatIsKilled) {
  const Ran ran = run_script("attached", R"(mkfifo f; p sudo -n sh -c 'echo $$ >f; exec sleep 600' &
read pid <f; [ -e /proc/$pid ] && echo up; kill -KILL $!; wait $!; echo $?
for ((i = 0; i < 2000; i++)); do [ -e /proc/$pid ] || break; sleep 0.01; done; ls -d /proc/$pid)");
  EXPECT_EQ(ran.out, "up\n137\n") << ran.err;
}

using WithSu = AttachedTest;

TEST_F(WithSu, TheExitIsThatOfTheCommand) {
  const std::string su = "p su -s /bin/sh nobody -c ";
  expect_same_script(su + "'id -u; exit 7'; echo $?; " + su + "'kill -TERM $$'; echo $?");
  expect_same_session([&](Pty& pty) {
    pty.type(su + "'echo u\"\"p; exec sleep 100'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("130\r\n$ ");
  });
}

}  // namespace
}  // namespace corral::cli
