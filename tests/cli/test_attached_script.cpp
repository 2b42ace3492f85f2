#include <gmock/gmock.h>

#include <csignal>
#include <fstream>

#include "cli/attached_test.h"

namespace corral::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

using InAScript = AttachedTest;

// A driver that appends a line for each time that the signal comes to `got`, and goes 300 ms after
// the first. In Perl, whose handlers run at once: a shell's wait for its child, and merge.
std::string counting(const std::string& signal) {
  return R"(cat >driver <<'X'
my $seen = 0;
$SIG{$ARGV[0]} = sub { open my $f, '>>', 'got'; print $f "$ARGV[0]\n"; $seen = 1; };
open my $up, '>', 'up'; print $up "up\n"; close $up;
select undef, undef, undef, 10 until $seen;
select undef, undef, undef, 0.05 for 1 .. 6;
X
up() { until [ -s up ]; do sleep 0.01; done; }
signal=)" +
         signal + "\n";
}

TEST_F(InAScript, ExitsAndDiesAsTheDriverDoes) {
  for (const char* way : {"exit 7", "exit 0", "exit 255", "kill -TERM $$", "kill -INT $$",
                          "kill -KILL $$", "kill -ABRT $$", "kill -RTMIN $$"})
    expect_same_script(std::string("ulimit -c 0; exec p sh -c '") + way + "'");
  const Ran ran = run_script("attached", "ulimit -c unlimited; exec p sh -c 'kill -SEGV $$'");
  EXPECT_EQ(ran.status & 0x7f, SIGSEGV);
  EXPECT_EQ(ran.status & 0x80, 0) << "a core of corralctl";
}

TEST_F(InAScript, SaysWhyACommandCannotBeExecuted) {
  const Ran missing = run_script("attached", "p /nonexistent; echo $?");
  EXPECT_EQ(missing.out, "127\n");
  EXPECT_EQ(missing.err, "corralctl: /nonexistent: No such file or directory\n");
  const Ran denied = run_script("attached", "p /etc/passwd; echo $?");
  EXPECT_EQ(denied.out, "126\n");
  EXPECT_EQ(denied.err, "corralctl: /etc/passwd: Permission denied\n");
}

TEST_F(InAScript, SaysThatTooFewFilesMayBeOpen) {
  expect_same_script("ulimit -n 20; p echo ok; echo $?");
  const Ran ran = run_script("attached", "ulimit -n 12; p touch ran; echo $?; ls ran 2>&-");
  EXPECT_EQ(ran.out, "125\n");
  EXPECT_THAT(ran.err,
              testing::MatchesRegex("corralctl: run: open 12 files at once: Too many open files; "
                                    "their limit is 12, raise it by [0-9]+ or more \\(ulimit "
                                    "-n\\)\n"));
}

TEST_F(InAScript, LeavesPipesAlone) {
  expect_same_script("echo in | p cat | cat; echo ${PIPESTATUS[@]}; p cat; p cat <&-; echo $?");
  expect_same_script(
      "yes | p head -2; echo ${PIPESTATUS[@]}; p yes | head -1; echo ${PIPESTATUS[@]}");
  // The reader waits for the end of the pipe, and the driver for the reader.
  expect_same_script(
      "mkfifo f; p sh -c 'echo x; exec >&-; read y <f; exit $y' | { cat; echo 5 >f; }"
      "; echo ${PIPESTATUS[@]}");
  expect_same_script(
      "mkfifo f; p sh -c 'exec 7>&-; read y <f; exit $y' 7>&1 >err2 | "
      "{ cat; echo 5 >f; }; echo ${PIPESTATUS[@]}");
}

TEST_F(InAScript, ChangesNothingAroundTheDriver) {
  expect_same_script(R"(trap '' HUP PIPE USR1 CHLD; umask 027; ulimit -n 100; cd /tmp
exec 7</etc/passwd 9>/dev/null; export ODD=$'\xff\n'
p grep -E '^(Sig(Blk|Ign|Cgt)|...Pnd|NoNewPrivs|Seccomp|Groups|Cap|Cpus)' /proc/self/status
p sh -c 'umask; ulimit -a; pwd; ls /proc/self/fd; readlink /proc/self/ns/* /proc/self/fd/[079]'
p printf '%s,' $'\xff' '' --help -- -q 'a b'
p sh -c 'cat /proc/self/oom_score_adj /proc/self/timerslack_ns; nice; ulimit -Hn' <&- 7>&-
p env | grep -av -e ^CORRAL_ -e ^_= -e ^PATH= -e ^TMP= -e PWD=
p perl -e 'print getpgrp() == $ARGV[0] ? "same group\n" : "another\n"; print -t STDIN' $$)");
}

TEST_F(InAScript, TellsTheDriverItsRun) {
  set_options({"--id=me", "--setenv=A=b"});
  const Ran ran = run_script("attached", "p sh -c 'echo $CORRAL_RUN_ID $CORRAL_INVOCATION $A'");
  EXPECT_EQ(ran.out.size(), 3 + 32 + 3u) << ran.out << ran.err;
  EXPECT_THAT(ran.out, EndsWith(" b\n"));
}

TEST_F(InAScript, PassesASignalToThePidOnOnce) {
  for (const char* signal : {"TERM", "HUP", "USR1", "WINCH", "ALRM", "CONT", "RTMIN"})
    expect_same_script(counting(signal) + "p perl driver $signal & up; kill -" + signal +
                       " $!; wait $!; while kill -0 $! 2>&-; do wait $!; done; echo $?; cat got");
}

TEST_F(InAScript, ASignalToTheGroupReachesTheDriverOnce) {
  for (const char* signal : {"TERM", "INT", "USR1", "RTMIN"})
    expect_same_script("set -m\n" + counting(signal) + "p perl driver $signal & up; kill -" +
                       signal +
                       " -$!; wait $!; while kill -0 $! 2>&-; do wait $!; done; echo $?; cat got");
}

TEST_F(InAScript, TimeoutCountsOnce) {
  const Ran ran =
      run_script("attached", counting("TERM") + "timeout 1 p perl driver TERM; echo $?; cat got");
  EXPECT_EQ(ran.out, "124\nTERM\n") << ran.err;
  expect_same_script("timeout 0.3 p sleep 100; echo $?; timeout -s KILL 0.3 p sleep 100; echo $?");
}

TEST_F(InAScript, AnAlarmOfTheCallerIsTheDrivers) {
  expect_same_script("perl -e 'alarm 1; exec @ARGV' p sleep 100; echo $?");
}

TEST_F(InAScript, WhatTheDriverSendsToItsParentGetsThere) {
  expect_same_script("trap 'echo got' USR1; p sh -c 'kill -USR1 $PPID; sleep 0.3'; echo $?");
}

TEST_F(InAScript, NohupProtectsTheDriver) {
  expect_same_script("nohup p sh -c 'kill -HUP $$; echo survived'; echo $?");
  expect_same_script(
      "mkfifo f; nohup p sh -c 'echo >up; read x <f; echo $x' & "
      "until [ -s up ]; do sleep 0.01; done; kill -HUP $!; echo on >f; wait; echo $?");
}

TEST_F(InAScript, StopsAndContinuesByPid) {
  const std::string script = CORRAL_TOLD " p sh -c 'echo $$ >up; exec sleep 100'";
  EXPECT_EQ(run_script("plain", script).out,
            "TSTP: 147f both stopped\nCONT: ffff \nTTIN: 157f both stopped\nCONT: ffff \n"
            "TTOU: 167f both stopped\nCONT: ffff \nTERM: 000f \n");
  expect_same_script(script);
}

TEST_F(InAScript, AParentWaitsForItByPidAndByGroup) {
  expect_same_script(
      "perl -e 'if (!($p = fork)) { setpgrp; exec @ARGV } sleep 0;"
      "print waitpid(-$p, 0) == $p || waitpid($p, 0) == $p, \" $?\\n\"' p sh -c 'exit 3'");
  expect_same_script(
      "perl -e 'if (!($p = fork)) { exec @ARGV }"
      "print waitpid(0, 0) == $p, \" $?\\n\"' p sh -c 'kill -9 $$'");
}

TEST_F(InAScript, ADriverMayChangeItsUser) {
  expect_same_script(
      "p perl -e '$( = $) = 65534; $> = $< = 65534; exec @ARGV' sh -c 'id -u; kill $$'; echo $?");
  expect_same_script(
      "p perl -e '$< = $> = 65534; $| = 1; print \"x\" x 3; sleep 100' >up & "
      "until [ -s up ]; do sleep 0.01; done; kill $!; wait $!; echo $?");
}

TEST_F(InAScript, AJobserverWorksThrough) {
  expect_same_script(R"(printf 'all: a b c d e f g h\n%%:\n\t@+p make -s -f sub t-$@\n' >Makefile
printf 't-%%:\n\t@p touch $@.done\n' >sub
make -s -j4; echo $?; ls *.done)");
}

TEST_F(InAScript, AHundredAtOnceAreKeptApart) {
  expect_same_script(
      "for i in {1..100}; do p sh -c \"exit $((i % 60))\" & pids+=($!); done; "
      "for pid in ${pids[@]}; do wait $pid; echo $?; done");
}

TEST_F(InAScript, ALeakHoldsAPipeNoLongerThanItsEndTakes) {
  const Ran ran =
      run_script("attached", "p sh -c 'sleep 600 & echo hi' | cat; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(ran.out, "hi\n0\n");
  EXPECT_THAT(ran.err, HasSubstr("1 process had outlived it"));
}

TEST_F(InAScript, ReapsTheOrphansOfTheRun) {
  const Ran ran = run_script("attached",
                             "p sh -c '(sleep 0.1 &); sleep 0.4; "
                             "ps --ppid $PPID -o stat= | grep -c Z'");
  EXPECT_EQ(ran.out, "0\n") << ran.err;
}

}  // namespace
}  // namespace corral::cli
