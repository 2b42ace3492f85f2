#include <chrono>
#include <cstdlib>

#include "service_test.h"

namespace corral::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How long an end takes, as its caller sees it.
class ServiceLadder : public ServiceTest {
 protected:
  // The quickest of seven: a busy machine makes an end late, nothing makes one early.
  template <typename Check>
  milliseconds quickest_end(const Command& argv, uint64_t grace_usec, Check check) {
    auto quickest = milliseconds::max();
    std::string all;
    for (int i = 0; i < 7; ++i) {
      start_ready("a", argv);
      const auto began = Clock::now();
      const auto report = end("a", {{"GraceUSec", grace_usec}});
      const auto took = std::chrono::ceil<milliseconds>(Clock::now() - began);
      check(report, took);
      quickest = std::min(quickest, took);
      all += " " + std::to_string(took.count());
    }
    RecordProperty("EndMilliseconds", all);
    return quickest;
  }
};

TEST_F(ServiceLadder, WaitsNoLongerThanTheDriverTakesForSigterm) {
  const auto argv = shell(
      "trap 'kill $!; sleep 0.3; exit 0' TERM; sleep 100 >/dev/null & echo ready; wait; exit 1");
  const auto quickest =
      quickest_end(argv, 5'000 * kMilliseconds, [](const Dict& report, milliseconds took) {
        EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
        EXPECT_GE(took, milliseconds{300});
      });
  EXPECT_LT(quickest, milliseconds{400});
}

TEST_F(ServiceLadder, KillsADriverThatIgnoresSigtermWhenGraceIsOver) {
  const auto quickest =
      quickest_end(misbehave({"--stay", "ignore-term"}), 500 * kMilliseconds,
                   [](const Dict& report, milliseconds took) {
                     EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));
                     EXPECT_GE(took, milliseconds{499});  // the timer's accuracy
                   });
  EXPECT_LT(quickest, milliseconds{600});
}

// CORRAL_STORMS says how many.
TEST_F(ServiceLadder, EndsEveryStormOfForksAndExits) {
  const char* asked = std::getenv("CORRAL_STORMS");
  const int storms = asked != nullptr ? std::atoi(asked) : 200;
  int ended = 0;
  milliseconds slowest{0};
  for (int i = 0; i < storms; ++i) {
    start_ready("a", misbehave({"--stay", "storm", "16", "5"}));
    const auto began = Clock::now();
    // Every other one is asked, which it does not hear in time.
    const auto report = end("a", {{"GraceUSec", i % 2 == 0 ? 0 : 5 * kMilliseconds}});
    slowest = std::max(slowest, std::chrono::ceil<milliseconds>(Clock::now() - began));
    if (value<std::string>(report, "State") == "ended" && !HasFailure()) ++ended;
    must(client().forget_run("a"));
  }
  EXPECT_EQ(ended, storms);
  // It was ended, and did not end by itself.
  EXPECT_LT(slowest, milliseconds{4'000});
  RecordProperty("SlowestEndMilliseconds", static_cast<int>(slowest.count()));
}

}  // namespace
}  // namespace corral::test
