#include "service_test.h"

namespace corral::test {
namespace {

using testing::Each;
using testing::Property;
using testing::SizeIs;

class ServiceSpared : public ServiceTest {
 protected:
  // A process of the engine's own, in a cgroup beside the service's, that says "ready".
  harness::Child engine_child(const Command& argv,
                              const std::vector<std::string>& environment = {}) {
    const std::string log = stack_.temp() / ("engine" + std::to_string(++children_));
    harness::Child child(harness::Command{
        .argv = argv, .environment = environment, .log = log, .group = engine_.fd()});
    EXPECT_TRUE(eventually([&] { return must(base::read_at(AT_FDCWD, log)) == "ready\n"; }));
    return child;
  }
  static bool lives(const harness::Child& child) { return !child.pidfd().exited(); }

  cgroup::Group engine_ = stack_.scratch().make("engine");
  int children_ = 0;
};

TEST_F(ServiceSpared, IsAnotherRunOfTheSameCommandAndUser) {
  const auto command = misbehave({"--stay", "jobs", "2"});
  start_ready("a", command);
  start_ready("b", command);
  const auto others = pidfds("b");
  ASSERT_THAT(others, SizeIs(3));

  EXPECT_EQ(counts(end("a")), (Counts{2, 2, 0}));
  EXPECT_THAT(others, Each(Property("exited", &cgroup::Pidfd::exited, false)));
  EXPECT_EQ(property("b", "State"), "running");
  EXPECT_THAT(processes("b"), SizeIs(3));
  EXPECT_EQ(counts(end("b")), (Counts{2, 2, 0}));
}

TEST_F(ServiceSpared, IsTheEngineWithWhatItStartsByItself) {
  const auto command = misbehave({"--stay", "jobs", "2"});
  const auto directory = start_ready("a", command);
  // The same command, and the environment of the run as a hook of the engine has it.
  const auto sibling = engine_child(command);
  const auto hook = engine_child(
      command, {"CORRAL_RUN_ID=a", "CORRAL_INVOCATION=" + directory.substr(sizeof "a." - 1)});
  ASSERT_EQ(must(cgroup::count(engine_)), 6U);

  const auto report = must(client().end_run("a"));
  EXPECT_EQ(value<uint64_t>(report, "Terminated"), 2U);
  EXPECT_EQ(value<uint64_t>(report, "Killed"), 0U);
  // By its environment alone the hook is told of, and no more.
  EXPECT_EQ(value<uint64_t>(report, "Escaped"), 3U);
  EXPECT_THAT(column(leaks(report), "Rule"),
              testing::UnorderedElementsAre("", "", "environment", "environment", "environment"));
  EXPECT_TRUE(lives(sibling));
  EXPECT_TRUE(lives(hook));
  EXPECT_EQ(must(cgroup::count(engine_)), 6U);
}

TEST_F(ServiceSpared, IsAHookThatBecameASessionLeaderInPlace) {
  start_ready("a", misbehave({"--stay", "setsid", "1"}));
  const auto hook = engine_child(misbehave({"session-in-place"}));
  ASSERT_EQ(getsid(hook.pid()), hook.pid());
  EXPECT_EQ(error_of(client().get_run_by_pid(static_cast<uint32_t>(hook.pid()))),
            std::string(harness::kErrorPrefix) + "NoRunForPID");

  EXPECT_EQ(counts(end("a")), (Counts{1, 1, 0}));
  EXPECT_TRUE(lives(hook));
}

}  // namespace
}  // namespace corral::test
