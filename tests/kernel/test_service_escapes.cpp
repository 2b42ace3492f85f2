#include <sys/prctl.h>
#include <sys/wait.h>

#include "cgroup/control.h"
#include "service_test.h"

namespace corral::test {
namespace {

using harness::Child;
using testing::ElementsAre;
using testing::IsEmpty;

// Who left a run is named and not touched; who was moved into it ends with it, and is named too.
class ServiceEscapes : public ServiceTest {
 protected:
  ServiceEscapes() { EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  ~ServiceEscapes() override {
    (void)cgroup::kill(outside_);
    (void)cgroup::wait_populated(outside_, false, harness::kDeadline);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
    EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
  }

  // A run of a shell and a sleeper, which is moved out of it.
  uint32_t start_and_move_out(const Command& prefix = {}) {
    Command argv = prefix;
    for (const auto& word : shell("sleep 100 >/dev/null & echo ready; wait")) argv.push_back(word);
    start_ready("a", argv);
    uint32_t pid = 0;
    EXPECT_TRUE(eventually([&] { return (pid = sleeper()) != 0; }));
    must(cgroup::move_into(outside_, static_cast<pid_t>(pid)));
    return pid;
  }
  // 0: it has not executed yet.
  uint32_t sleeper() {
    for (const Dict& row : processes("a"))
      if (value<std::string>(row, "Comm") == "sleep") return value<uint32_t>(row, "PID");
    return 0;
  }
  std::string outside_group() const { return stack_.scratch().control_group() + "/outside"; }
  // EndRun's report, where somebody escaped.
  Dict end_all() { return must(client().end_run("a")); }
  bool is_outside(uint32_t pid) const {
    const auto members = must(cgroup::members(outside_));
    return std::ranges::any_of(members, [&](const cgroup::Member& member) {
      return member.pid == static_cast<pid_t>(pid);
    });
  }

  cgroup::Group outside_ = stack_.scratch().make("outside");
};

TEST_F(ServiceEscapes, AreNamedWithTheirPlaceAndNotTouched) {
  const auto pid = start_and_move_out();
  const auto report = end_all();
  EXPECT_EQ(value<uint64_t>(report, "Escaped"), 1U);
  EXPECT_THAT(column<uint32_t>(leaks(report), "PID"), ElementsAre(pid));
  EXPECT_THAT(column(leaks(report), "Outcome"), ElementsAre("escaped"));
  EXPECT_THAT(column(leaks(report), "Rule"), ElementsAre("parent"));
  EXPECT_THAT(column(leaks(report), "ControlGroup"), ElementsAre(outside_group()));
  EXPECT_TRUE(is_outside(pid));
}

TEST_F(ServiceEscapes, AreNamedWithAScrubbedEnvironmentToo) {
  const auto pid = start_and_move_out({"env", "-i", "PATH=/usr/bin:/bin"});
  EXPECT_THAT(column<uint32_t>(leaks(end_all()), "PID"), ElementsAre(pid));
}

TEST_F(ServiceEscapes, AreKnownByTheirEnvironmentWhereTheSupervisorIsGone) {
  const auto pid = start_and_move_out();
  const auto init = must(cgroup::members(open("a." + property("a", "Invocation"), "init")));
  ASSERT_EQ(init.size(), 1U);
  must(must(cgroup::Pidfd::open(init.front().pid)).signal(SIGKILL));
  const auto driver = property<uint32_t>("a", "DriverPID");
  must(client().signal_run("a", "driver", SIGKILL));
  ASSERT_TRUE(
      eventually([&] { return waitpid(static_cast<pid_t>(driver), nullptr, WNOHANG) != 0; }));
  ASSERT_TRUE(client().wait_state("a", "ended"));
  const auto rows = leaks(must(client().get_report("a")));
  EXPECT_THAT(column<uint32_t>(rows, "PID"), ElementsAre(pid));
  EXPECT_THAT(column(rows, "Rule"), ElementsAre("environment"));
  EXPECT_TRUE(is_outside(pid));
}

TEST_F(ServiceEscapes, OfAnotherRunAreNotTheirs) {
  start("b", {"sleep", "100"});
  const auto pid = start_and_move_out();
  EXPECT_THAT(leaks(end("b")), IsEmpty());
  EXPECT_THAT(column<uint32_t>(leaks(end_all()), "PID"), ElementsAre(pid));
}

TEST_F(ServiceEscapes, WhoWasMovedInIsForeignAndEndsWithTheRun) {
  const auto directory = start_ready("a", shell("sleep 100 >/dev/null & echo ready; wait"));
  Child child(harness::Command{.argv = {"sleep", "100"}, .group = outside_.fd()});
  ASSERT_TRUE(eventually([&] { return is_outside(static_cast<uint32_t>(child.pid())); }));
  must(cgroup::move_into(open(directory, "work"), child.pid()));
  const auto report = end("a");
  EXPECT_EQ(counts(report), (Counts{2, 2, 0}));
  for (const Dict& row : leaks(report)) {
    const bool is_child = value<uint32_t>(row, "PID") == static_cast<uint32_t>(child.pid());
    EXPECT_EQ(value<std::string>(row, "Rule"), is_child ? "foreign" : "");
  }
  EXPECT_TRUE(child.wait(harness::kDeadline));
}

TEST_F(ServiceEscapes, CostRowsAndNotTheEndWhereProcCannotBeRead) {
  stack_.kill_corrald();
  stack_.options().corrald_wrapper = {"strace",
                                      "-D",
                                      "-f",
                                      "-o",
                                      stack_.temp() / "trace",
                                      "-P",
                                      "/proc",
                                      "-e",
                                      "inject=openat:error=EMFILE"};
  stack_.start_corrald();
  start_and_move_out();
  const auto report = end_all();
  EXPECT_EQ(value<std::string>(report, "State"), "ended");
  EXPECT_EQ(value<uint64_t>(report, "Escaped"), 0U);
  EXPECT_THAT(stack_.log(), testing::HasSubstr("open /proc"));
}

}  // namespace
}  // namespace corral::test
