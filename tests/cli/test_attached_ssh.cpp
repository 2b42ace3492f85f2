#include "cgroup/processes.h"
#include "cli/attached_test.h"
#include "cli/private_sshd.h"
#include "harness/must.h"

namespace corral::cli {
namespace {

using harness::eventually;

constexpr const char* kCtrlC = "\003";
constexpr const char* kCtrlZ = "\032";

// `there` is ssh(1) to the own machine with a terminal, `nott` without one. On the other side `p`
// is called as $P.
class WithSsh : public AttachedTest {
 protected:
  WithSsh() : group_(stack().scratch().make("sshd")), sshd_(group_.fd()) {
    const std::string ssh = "P=$(command -v p); exec ssh -F " + sshd_.client_config();
    add_program("there", ssh + " -tt there \"$@\"");
    add_program("nott", ssh + " -T there \"$@\"");
    add_program("inside", ssh + " -tt there \"$P\" \"$@\"");
  }

  size_t of_sshd() const { return harness::must(cgroup::members(group_)).size(); }

  cgroup::Group group_;
  PrivateSshd sshd_;
};

// The prefix in front of ssh, and in front of what ssh is to execute.
const std::vector<std::string> kPlaces{"p there ", "inside "};

TEST_F(WithSsh, TheStatusComesBack) {
  expect_same_script(
      "p nott exit 7; echo $?; p nott 'kill -TERM $$'; echo $?; echo in | p nott cat");
  expect_same_script("p nott 'echo out; echo err >&2'; p there true; echo $?");
  expect_same_script(
      "P=$(command -v p); nott $P sh -c '\"exit 7\"'; echo $?; echo in | nott $P cat");
  expect_same_script("P=$(command -v p); nott $P sh -c \"'kill -TERM \\$\\$'\"; echo $?");
}

TEST_F(WithSsh, TheTerminalIsTheFarShells) {
  for (const auto& place : kPlaces)
    expect_same_session([&](Pty& pty) {
      pty.type("stty rows 33 cols 77; PS1='in> ' " + place +
               "bash --norc --noprofile --noediting -i\n");
      if (!pty.expect("-i\r\n") || !pty.expect("# ")) return false;
      pty.type("PS1='in> '; stty size\n");
      if (!pty.expect("33 77\r\n") || !pty.expect("in> ")) return false;
      pty.type("sh -c 'echo u\"\"p; exec sleep 100'\n");
      if (!pty.expect("up\r\n")) return false;
      pty.type(kCtrlC);
      if (!pty.expect("in> ")) return false;
      pty.type("echo $?; sh -c 'echo u\"\"p; read x; echo got $x'\n");
      if (!pty.expect("130\r\n") || !pty.expect("up\r\n")) return false;
      pty.type(kCtrlZ);
      if (!pty.expect("Stopped") || !pty.expect("in> ")) return false;
      pty.type("fg\n");
      if (!pty.expect("got $x'\r\n")) return false;
      pty.type("hello\n");
      if (!pty.expect("got hello\r\nin> ")) return false;
      pty.type("exit 7\n");
      if (!pty.expect("closed.") || !pty.expect("$ ")) return false;
      pty.type("echo $?\n");
      return pty.expect("7\r\n$ ");
    });
}

TEST_F(WithSsh, CtrlCReachesTheFarCommand) {
  for (const auto& place : kPlaces)
    expect_same_session([&](Pty& pty) {
      pty.type(place + "sh -c \"'echo u\\\"\\\"p; exec sleep 100'\"\n");
      if (!pty.expect("up\r\n")) return false;
      pty.type(kCtrlC);
      if (!pty.expect("$ ")) return false;
      pty.type("echo $?\n");
      return pty.expect("$ ");
    });
}

TEST_F(WithSsh, ARunInASessionEndsWithTheConnection) {
  set_options({"--id=r"});
  Pty pty({"env", "PATH=" + temp() / "attached" + ":" + std::getenv("PATH"), "inside", "sh", "-c",
           "'sleep 600 & echo up; exec sleep 600'"});
  ASSERT_TRUE(pty.expect("up\r\n")) << pty.shown();
  EXPECT_TRUE(eventually([&] { return stack().processes().size() == 2; }));
  EXPECT_GT(of_sshd(), 2u) << "the session is not the run's";
  pty.kill_leader();
  ASSERT_TRUE(stack().client().wait_state("r", "ended"));
  EXPECT_TRUE(eventually([&] { return of_sshd() == 1; })) << of_sshd();
}

TEST_F(WithSsh, WhatStaysOnTheOtherSideIsNotClaimed) {
  set_options({"--fail-on-leak"});
  const Ran ran =
      run_script("attached",
                 "pid=$(p nott 'exec sleep 600 </dev/null >/dev/null 2>&1 & echo $!'); echo $?; "
                 "kill $pid && echo it lived");
  EXPECT_EQ(ran.out, "0\nit lived\n") << ran.err;
}

}  // namespace
}  // namespace corral::cli
