#include "cli/attached_test.h"

namespace corral::cli {
namespace {

constexpr const char* kCtrlC = "\003";
constexpr const char* kCtrlZ = "\032";

using OnATerminal = AttachedTest;

TEST_F(OnATerminal, CtrlCKillsTheDriverAndSoThePrefix) {
  expect_same_session([](Pty& pty) {
    pty.type("p sh -c 'echo u\"\"p; exec sleep 100'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("130\r\n$ ");
  });
}

TEST_F(OnATerminal, CtrlCReachesAHandlerOnce) {
  expect_same_session([](Pty& pty) {
    pty.type("p bash -c 'trap \"echo in\"t INT; echo u\"\"p; read x; read x; echo got $x'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("int\r\n")) return false;
    pty.type("hello\nworld\n");
    return pty.expect("got world\r\n$ ") || pty.expect("got hello\r\n$ ");
  });
}

TEST_F(OnATerminal, CtrlZStopsAndFgContinues) {
  expect_same_session([](Pty& pty) {
    pty.type("p sh -c 'echo u\"\"p; read x; echo got $x'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlZ);
    if (!pty.expect("Stopped") || !pty.expect("$ ")) return false;
    pty.type("echo $?; jobs\n");
    if (!pty.expect("148\r\n") || !pty.expect("Stopped") || !pty.expect("$ ")) return false;
    pty.type("fg\n");
    if (!pty.expect("got $x'\r\n")) return false;
    pty.type("hello\n");
    return pty.expect("got hello\r\n$ ");
  });
}

TEST_F(OnATerminal, BgLetsAStoppedJobRunOn) {
  expect_same_session([](Pty& pty) {
    pty.type("p sh -c 'echo u\"\"p; exec sleep 100'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlZ);
    if (!pty.expect("Stopped") || !pty.expect("$ ")) return false;
    pty.type("bg\n");
    if (!pty.expect("&\r\n$ ")) return false;
    pty.type("jobs\n");
    if (!pty.expect("Running") || !pty.expect("$ ")) return false;
    pty.type("kill %1; wait %1; echo $?\n");
    return pty.expect("Terminated") && pty.expect("143\r\n$ ");
  });
}

TEST_F(OnATerminal, ADriverThatReadsInTheBackgroundIsStoppedByThat) {
  expect_same_session(
      [](Pty& pty) {
        pty.type("stty -echo\n");
        if (!pty.expect("$ ")) return false;
        pty.type("p sh -c 'read x; echo got $x' &\n");
        if (!pty.expect("$ ")) return false;
        pty.type("while ! [[ $(jobs -s) ]]; do sleep 0.01; done; fg >/dev/null\nhello\n");
        return pty.expect("got hello\r\n$ ");
      },
      "\r\n.1.. *Stopped[^\n]*\n");  // which bash tells at once or never
}

TEST_F(OnATerminal, ADriverThatIgnoresCtrlZIsNotStopped) {
  expect_same_session([](Pty& pty) {
    pty.type("p sh -c 'trap \"\" TSTP; echo u\"\"p; read x; echo got $x'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlZ);
    if (!pty.expect("^Z")) return false;
    pty.type("hello\n");
    return pty.expect("got hello\r\n$ ");
  });
}

TEST_F(OnATerminal, AShellInsideHasJobControlOfItsOwn) {
  expect_same_session([](Pty& pty) {
    pty.type("PS1='in> ' p bash --norc --noprofile --noediting -i\n");
    if (!pty.expect("-i\r\n") || !pty.expect("in> ")) return false;
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
    pty.type("suspend\n");
    if (!pty.expect("Stopped") || !pty.expect("$ ")) return false;
    pty.type("fg\n");
    if (!pty.expect("-i\r\n") || !pty.expect("in> ")) return false;
    pty.type("exit 7\n");
    if (!pty.expect("$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("7\r\n$ ");
  });
}

TEST_F(OnATerminal, ALoopStopsAtCtrlC) {
  expect_same_session([](Pty& pty) {
    pty.type("bash -c 'for i in 1 2 3; do p sh -c \"echo up\\$0; exec sleep 100\" $i; done'\n");
    if (!pty.expect("up1\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("130\r\n$ ");
  });
}

TEST_F(OnATerminal, CtrlCReachesADriverInAGroupOfItsOwn) {
  expect_same_session([](Pty& pty) {
    pty.type("p perl -e 'setpgrp; $| = 1; print \"u\", \"p\\n\"; sleep 100'\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("$ ");
  });
}

TEST_F(OnATerminal, ATerminalInsideIsTheDriversOwn) {
  expect_same_session([](Pty& pty) {
    pty.type("p script -qec 'echo u\"\"p; read x; echo got $x; p p sh -c \"exit 5\"' /dev/null\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type("hello\n");
    if (!pty.expect("got hello\r\n") || !pty.expect("$ ")) return false;
    pty.type("p script -qec 'echo u\"\"p; exec sleep 100' /dev/null\n");
    if (!pty.expect("up\r\n")) return false;
    pty.type(kCtrlC);
    if (!pty.expect("$ ")) return false;
    pty.type("echo $?\n");
    return pty.expect("$ ");
  });
}

TEST_F(OnATerminal, AStopOfTheDriverAloneIsOneOfTheJob) {
  expect_same_session([](Pty& pty) {
    pty.type("p sh -c 'echo u\"\"p; kill -STOP $$; echo on'\n");
    if (!pty.expect("Stopped") || !pty.expect("$ ")) return false;
    pty.type("fg\n");
    return pty.expect("on\r\n$ ");
  });
}

}  // namespace
}  // namespace corral::cli
