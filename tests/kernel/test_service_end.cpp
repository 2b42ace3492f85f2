#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::HasSubstr;

const std::string kCorral = harness::kErrorPrefix;
constexpr const char* kInvalidArgs = "org.freedesktop.DBus.Error.InvalidArgs";

// What EndRun takes, and whom it asks.
class ServiceEnd : public ServiceTest {
 protected:
  // Says on its output that it was asked, each time, and stays.
  static Command deaf() {
    return shell(
        "trap 'echo asked' TERM; (trap '' TERM; exec sleep 100) & echo ready; "
        "while :; do wait; done");
  }
  // A driver that exits with 7 when it is asked, and a sleeper.
  void start_polite(const std::string& id) {
    start(id, shell("trap 'exit 7' TERM; sleep 100 & wait"));
    // A child that is not executed yet still has the driver's trap.
    EXPECT_TRUE(eventually([&] {
      const auto names = column(processes(id), "Comm");
      return std::ranges::count(names, "sleep") == 1 && std::ranges::count(names, "sh") == 1;
    }));
  }

  Dict end_later(const std::string& id, uint64_t grace_usec, const std::string& reason = "") {
    return must(
        client().end_run(id, {{"NoBlock", true}, {"GraceUSec", grace_usec}, {"Reason", reason}}));
  }
  // A run whose driver does not hear SIGTERM.
  void start_stubborn(const std::string& id) { start_ready(id, stubborn({"--stay", "jobs", "1"})); }
};

TEST_F(ServiceEnd, WithoutGraceKillsAtOnce) {
  start_stubborn("a");
  const auto report = end("a", {{"GraceUSec", uint64_t{0}}});
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_LT(value<uint64_t>(report, "TimeToEmptyUSec"), 2'000 * kMilliseconds);
}

TEST_F(ServiceEnd, AsksOnceThoughItIsAskedForTwiceAndTheShorterGraceCounts) {
  Pipe output;
  start("a", deaf(), {{"StandardOutput", output.write_end()}});
  output.close_write();
  ASSERT_EQ(output.read(), "ready\n");
  end_later("a", 600'000 * kMilliseconds, "first");
  ASSERT_EQ(output.read(), "asked\n");
  const auto report =
      end("a", {{"GraceUSec", 200 * kMilliseconds}, {"Reason", std::string("2nd")}});
  EXPECT_EQ(output.read(), "") << "asked anew";
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "first");
  EXPECT_LT(value<uint64_t>(report, "TimeToEmptyUSec"), 10'000 * kMilliseconds);
}

TEST_F(ServiceEnd, IsNotLengthenedByWhoJoins) {
  start_stubborn("a");
  end_later("a", 400 * kMilliseconds);
  const auto report = end("a", {{"GraceUSec", 20'000 * kMilliseconds}});
  EXPECT_THAT(value<uint64_t>(report, "TimeToEmptyUSec"),
              AllOf(testing::Ge(399 * kMilliseconds), testing::Lt(10'000 * kMilliseconds)));
}

TEST_F(ServiceEnd, OfAFrozenRunAsksLikeAnyOther) {
  start_polite("a");
  must(client().freeze_run("a"));
  const auto report = end("a");
  EXPECT_EQ(exit_of(report), (Exit{"exit-code", "exited", 7}));
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
  EXPECT_FALSE(property<bool>("a", "Frozen"));
}

TEST_F(ServiceEnd, OfAStoppedRunAsksLikeAnyOther) {
  start_polite("a");
  must(client().signal_run("a", "all", SIGSTOP));
  ASSERT_TRUE(
      eventually([&] { return std::ranges::count(column(processes("a"), "State"), "T") == 2; }));
  const auto report = end("a");
  EXPECT_EQ(exit_of(report), (Exit{"exit-code", "exited", 7}));
  EXPECT_EQ(counts(report), (Counts{1, 1, 0}));
}

TEST_F(ServiceEnd, ThatDoesNotBlockAnswersWithTheReportSoFar) {
  start_stubborn("a");
  const auto held = pidfds("a");
  const auto report = end_later("a", 600'000 * kMilliseconds, "why");
  EXPECT_EQ(value<std::string>(report, "State"), "ending");
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "why");
  for (const auto& process : held) EXPECT_FALSE(process.exited());
  end("a", {{"GraceUSec", uint64_t{0}}});
}

TEST_F(ServiceEnd, WithAGraceThatOutlastsTheCallerMustNotBlock) {
  start_stubborn("a");
  const auto answer = client().end_run("a", {{"GraceUSec", 20'001 * kMilliseconds}});
  EXPECT_EQ(error_of(answer), kInvalidArgs);
  EXPECT_THAT(answer.error().message, HasSubstr("NoBlock"));
  EXPECT_EQ(property("a", "State"), "running") << "nothing is changed";
  end("a", {{"GraceUSec", uint64_t{0}}});
}

TEST_F(ServiceEnd, SaysWhoAskedAndWhy) {
  start("a", {"sleep", "100"});
  const auto report = end("a", {{"Reason", std::string("superseded")}});
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "superseded");
  EXPECT_THAT(value<std::string>(report, "EndedBy"),
              AllOf(HasSubstr("uid " + std::to_string(geteuid())),
                    HasSubstr("pid " + std::to_string(getpid()))));
  // The first end is the one that counts.
  EXPECT_EQ(value<std::string>(end("a", {{"Reason", std::string("late")}}), "EndMessage"),
            "superseded");
}

TEST_F(ServiceEnd, TakesItsCallerAlongWhereItAllowsThat) {
  const auto directory = stack_.runs() + "/" + start("a", {"sleep", "100"});
  EXPECT_TRUE(inside(directory, [](harness::Client& mine) {
    return error_of(mine.end_run("a")) == kCorral + "WouldKillCaller";
  }));
  ASSERT_EQ(property("a", "State"), "running");
  const int status = status_inside(directory, [](harness::Client& mine) {
    return bool(mine.end_run("a", {{"AllowSelf", true}}));
  });
  EXPECT_TRUE(WIFSIGNALED(status)) << "it was answered, so its run had ended without it";
  const auto report = ended("a");
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
  EXPECT_EQ(counts(report).found, 1U) << "the caller";
  EXPECT_THAT(value<std::string>(report, "EndedBy"),
              HasSubstr("pid " + std::to_string(value<uint32_t>(leaks(report).at(0), "PID"))));
}

TEST_F(ServiceEnd, OfAnInvocationBeforeThisOneTouchesNothing) {
  const auto before = start("a", {"true"}).substr(sizeof "a." - 1);
  ended("a");
  start("a", {"sleep", "100"});
  const auto report = must(client().end_run("a", {{"Invocation", before}}));
  EXPECT_EQ(value<std::string>(report, "Invocation"), before) << "it has ended";
  EXPECT_EQ(property("a", "State"), "running");
  must(client().forget_run("a", {{"Invocation", before}}));
  EXPECT_EQ(error_of(client().end_run("a", {{"Invocation", before}})),
            kCorral + "InvocationMismatch");
  EXPECT_EQ(property("a", "State"), "running");
  end("a");
}

TEST_F(ServiceEnd, UnderWayIsFinishedWhenTheServiceIsStopped) {
  start_stubborn("a");
  end_later("a", 400 * kMilliseconds, "last words");
  EXPECT_EQ(stack_.stop_corrald(), 0);
  EXPECT_THAT(stack_.processes(), testing::IsEmpty());
  stack_.start_corrald();
  const auto report = must(client().get_report("a"));
  EXPECT_EQ(value<std::string>(report, "State"), "ended");
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "last words");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
  EXPECT_GE(value<uint64_t>(report, "TimeToEmptyUSec"), 399 * kMilliseconds) << "its grace is kept";
}

TEST_F(ServiceEnd, ThatOutlastsTheServicesStopIsTheNextOnes) {
  const auto file = stack_.temp() / "corrald.conf";
  must(base::replace_at(AT_FDCWD, file, "[Bounds]\nStopSec=200ms\n"));
  stack_.options().corrald_arguments = {"--config=" + file};
  stack_.restart_corrald();
  start_stubborn("a");
  const auto held = pidfds("a");
  end_later("a", 600'000 * kMilliseconds, "slowly");
  EXPECT_EQ(stack_.stop_corrald(), 0);
  for (const auto& process : held) EXPECT_FALSE(process.exited());
  stack_.start_corrald();
  EXPECT_EQ(property("a", "State"), "ending");
  EXPECT_EQ(value<std::string>(end("a", {{"GraceUSec", uint64_t{0}}}), "EndMessage"), "slowly");
}

}  // namespace
}  // namespace corral::test
