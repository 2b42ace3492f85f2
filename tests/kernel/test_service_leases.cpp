#include "cgroup/control.h"
#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kCorral = harness::kErrorPrefix;

// What ties a run to its owner: a time to renew, or an fd to hold.
class ServiceLeases : public ServiceTest {
 protected:
  void sleeper(const std::string& id, Dict options = {}) {
    start(id, {"sleep", "100"}, std::move(options));
  }
  UniqueFd acquire(const std::string& id, const std::string& who) {
    return must(client().acquire_lease(id, who, "test"));
  }
  void expect_lost(const std::string& id) {
    const auto report = ended(id);
    EXPECT_EQ(value<std::string>(report, "EndReason"), "lease-lost");
    EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM}));
  }
  std::vector<std::string> leases(const std::string& id) {
    return property<std::vector<std::string>>(id, "Leases");
  }
};

TEST_F(ServiceLeases, ATimeThatIsNotRenewedEndsTheRun) {
  sleeper("a", {{"LeaseUSec", 200 * kMilliseconds}});
  EXPECT_EQ(property<uint64_t>("a", "LeaseUSec"), 200 * kMilliseconds);
  expect_lost("a");
}

TEST_F(ServiceLeases, ARenewalKeepsTheRun) {
  sleeper("a", {{"LeaseUSec", 1'000 * kMilliseconds}});
  must(client().renew_lease("a", 60'000 * kMilliseconds));
  EXPECT_EQ(property<uint64_t>("a", "LeaseUSec"), 60'000 * kMilliseconds);
  let_pass("1.2");
  EXPECT_EQ(property("a", "State"), "running");
  must(client().renew_lease("a", 100 * kMilliseconds));
  expect_lost("a");
}

TEST_F(ServiceLeases, ARunTakesOneLater) {
  sleeper("a");
  EXPECT_EQ(property<uint64_t>("a", "LeaseUSec"), UINT64_MAX);
  must(client().renew_lease("a", 100 * kMilliseconds));
  expect_lost("a");
}

TEST_F(ServiceLeases, NoTimeDropsTheLeaseAndTheRunGoesOn) {
  sleeper("a", {{"LeaseUSec", 1'000 * kMilliseconds}});
  must(client().renew_lease("a", 0));
  EXPECT_EQ(property<uint64_t>("a", "LeaseUSec"), UINT64_MAX);
  let_pass("1.2");
  EXPECT_EQ(property("a", "State"), "running");
  end("a");
}

TEST_F(ServiceLeases, AnFdEndsTheRunWhenItIsClosed) {
  sleeper("a");
  auto lease = acquire("a", "me");
  EXPECT_THAT(leases("a"), ElementsAre("me: test"));
  UniqueFd copy{fcntl(lease.get(), F_DUPFD_CLOEXEC, 0)};
  lease.reset();
  // A copy is open.
  must(client().signal_run("a", "all", SIGCONT));
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_THAT(leases("a"), ElementsAre("me: test"));
  copy.reset();
  expect_lost("a");
}

TEST_F(ServiceLeases, AnFdEndsTheRunWhenWhoHasItIsKilled) {
  sleeper("a");
  const auto group = stack_.scratch().make("holder");
  const auto holder = must(cgroup::clone_into(group, [&] {
    harness::Client mine(stack_.address());
    const auto lease = mine.acquire_lease("a", "holder", "");
    return lease ? pause() : 1;
  }));
  EXPECT_TRUE(eventually([&] { return leases("a") == std::vector<std::string>{"holder"}; }));
  EXPECT_EQ(property("a", "State"), "running");
  must(holder.signal(SIGKILL));
  EXPECT_EQ(waitpid(holder.pid(), nullptr, 0), holder.pid());
  expect_lost("a");
}

TEST_F(ServiceLeases, TheLastOfSeveralCounts) {
  sleeper("a", {{"LeaseUSec", 300 * kMilliseconds}});
  auto first = acquire("a", "1"), second = acquire("a", "2");
  EXPECT_THAT(leases("a"), ElementsAre("1: test", "2: test"));
  let_pass("0.6");
  EXPECT_EQ(property("a", "State"), "running") << "the time is over, and two fds are held";
  EXPECT_EQ(property<uint64_t>("a", "LeaseUSec"), UINT64_MAX);
  first.reset();
  EXPECT_TRUE(eventually([&] { return leases("a") == std::vector<std::string>{"2: test"}; }));
  EXPECT_EQ(property("a", "State"), "running");
  second.reset();
  expect_lost("a");
}

TEST_F(ServiceLeases, ATimeThatRunsKeepsARunWhoseFdIsClosed) {
  sleeper("a", {{"LeaseUSec", 60'000 * kMilliseconds}});
  acquire("a", "me").reset();
  EXPECT_TRUE(eventually([&] { return leases("a").empty(); }));
  EXPECT_EQ(property("a", "State"), "running");
  must(client().renew_lease("a", 100 * kMilliseconds));
  expect_lost("a");
}

TEST_F(ServiceLeases, ATimeIsGrantedAnewByAServiceThatRestarts) {
  const auto directory = start("a", {"sleep", "100"}, {{"LeaseUSec", 1'500 * kMilliseconds}});
  stack_.kill_corrald();
  must(cgroup::wait_populated(open(directory, "work"), false,
                              std::chrono::milliseconds{1'600}));  // time goes
  stack_.start_corrald();
  EXPECT_EQ(property("a", "State"), "running") << "nobody could renew it";
  must(client().renew_lease("a", 1'500 * kMilliseconds));
  expect_lost("a");
}

TEST_F(ServiceLeases, AnFdOfAServiceThatWentIsUnknownAndNotLost) {
  sleeper("a");
  auto lease = acquire("a", "me");
  stack_.restart_corrald();
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_THAT(leases("a"), IsEmpty());
  lease.reset();
  EXPECT_EQ(property("a", "State"), "running");
  acquire("a", "me").reset();
  expect_lost("a");
}

TEST_F(ServiceLeases, AreBoundedAndOfLiveRunsOnly) {
  sleeper("a");
  std::vector<UniqueFd> held;
  for (int i = 0; i < 64; ++i) held.push_back(acquire("a", std::to_string(i)));
  EXPECT_EQ(error_of(client().acquire_lease("a", "65", "")), kCorral + "LimitExceeded");
  EXPECT_EQ(leases("a").size(), 64U);
  end("a");
  EXPECT_EQ(error_of(client().acquire_lease("a", "", "")), kCorral + "RunBusy");
  EXPECT_EQ(error_of(client().renew_lease("a", 1)), kCorral + "RunBusy");
  EXPECT_EQ(error_of(client().renew_lease("x", 1)), kCorral + "NoSuchRun");
}

}  // namespace
}  // namespace corral::test
