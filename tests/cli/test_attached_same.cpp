#include "cli/attached_test.h"

namespace corral::cli {
namespace {

// On a terminal, with all that a person or a program sees of a command: its output, what the shell
// says of its end, and its status.
class TheSameOnATerminal : public AttachedTest {
 protected:
  // Each line is typed at the prompt, in $TMP, and its status asked for. No line may have "$ " in
  // it: that is the prompt.
  void expect_same_lines(const Words& lines, const std::string& but = "^$") {
    expect_same_session(
        [&](Pty& pty) {
          pty.type("cd $TMP; ulimit -c 0\n");
          if (!pty.expect("$ ")) return false;
          for (const std::string& line : lines) {
            pty.type(line + "\n");
            if (!pty.expect("$ ")) return false;
            pty.type("echo \"${PIPESTATUS[@]}\" do\"\"ne\n");  // a line that died by SIGINT is over
            if (!pty.expect(" done\r\n") || !pty.expect("$ ")) return false;
          }
          return true;
        },
        but);
  }
};

TEST_F(TheSameOnATerminal, ACodeToExitWith) {
  expect_same_lines({"p sh -c 'exit 7'", "p true", "p sh -c 'echo out; echo err >&2; exit 255'"});
}

TEST_F(TheSameOnATerminal, ADeathBySignal) {
  expect_same_lines({"p sh -c 'kill -TERM $$'", "p sh -c 'kill -INT $$'", "p sh -c 'kill -KILL $$'",
                     "p sh -c 'kill -SEGV $$'", "p sh -c 'kill -HUP $$'"},
                    " \\(core dumped\\)");  // a core that is piped to a program has no limit
}

TEST_F(TheSameOnATerminal, WhatAParentIsToldByWaitpid) {
  add_program("status",
              "exec perl -e 'if (!($p = fork)) { exec @ARGV } waitpid($p, 0) == $p or die;"
              "printf \"%04x\\n\", $?' \"$@\"");
  expect_same_lines({"status p sh -c 'exit 7'", "status p sh -c 'kill -TERM $$'",
                     "status p sh -c 'kill -INT $$'", "status p sh -c 'kill -KILL $$'",
                     "status p sh -c 'kill -RTMIN $$'"});
}

TEST_F(TheSameOnATerminal, MakeAndItsJobserver) {
  add_program("files",
              "printf 'all: a b c d e f g h\\n%%:\\n\\t@+p make -s -f sub t-$@\\n' >Makefile;"
              "printf 't-%%:\\n\\t@p touch $@.done\\n' >sub");
  expect_same_lines({"files", "make -s -j4", "ls *.done", "rm *.done; p make -s -j4", "ls *.done",
                     "printf 'bad:\\n\\tp sh -c \"exit 3\"\\n' >Makefile; make -j4 bad"});
}

TEST_F(TheSameOnATerminal, ATimeout) {
  expect_same_lines(
      {"timeout 1 p sleep 100", "timeout -s KILL 0.3 p sleep 100",
       "timeout --preserve-status -s INT 0.3 p sleep 100", "timeout --foreground 0.3 p sleep 100",
       "timeout 1 p perl -e '$SIG{TERM} = sub { print \"term\\n\"; exit 3 }; sleep 9'",
       "timeout 100 p sh -c 'exit 7'"});
}

TEST_F(TheSameOnATerminal, Nohup) {
  expect_same_lines({"nohup p sh -c 'kill -HUP $$; echo survived; exit 4'", "cat nohup.out",
                     "nohup p cat", "p nohup sh -c 'kill -HUP $$; echo again'", "cat nohup.out"});
}

TEST_F(TheSameOnATerminal, AnEndOfInput) {
  expect_same_lines({"p cat </dev/null", "p cat <&-", "p sh -c 'read x; echo $?' </dev/null"});
  expect_same_session([](Pty& pty) {
    pty.type("p cat\n");
    if (!pty.expect("p cat\r\n")) return false;
    pty.type("one\n");
    if (!pty.expect("one\r\none\r\n")) return false;
    pty.type("\004");
    if (!pty.expect("$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("0\r\n$ ");
  });
}

TEST_F(TheSameOnATerminal, APipe) {
  expect_same_lines({"echo in | p cat | cat", "yes | p head -2", "p yes | head -1",
                     "p cat /etc/passwd | p cat | cksum", "p sh -c 'exit 3' | p sh -c 'exit 4'"});
}

TEST_F(TheSameOnATerminal, AHundredAtOnce) {
  add_program("hundred",
              "for i in $(seq 100); do p sh -c \"exit $i\" & pids=\"$pids $!\"; done;"
              "for pid in $pids; do wait $pid; echo status $?; done");
  expect_same_session([](Pty& pty) {
    pty.type("hundred\n");
    for (int i = 1; i <= 100; ++i)
      if (!pty.expect("status " + std::to_string(i) + "\r\n")) return false;
    return pty.expect("$ ");
  });
}

}  // namespace
}  // namespace corral::cli
