#include "bus/fixture.h"

namespace corral::bus {
namespace {

const std::string kUnknownObject = "org.freedesktop.DBus.Error.UnknownObject";
using Runs = BusTest;

TEST_F(Runs, ARunsObjectHasEveryPropertyOfItsStatus) {
  const Dict properties = must(client_.run_properties(publish(sample_status())));
  EXPECT_EQ(value<std::string>(properties, "Id"), "r1");
  EXPECT_EQ(value<std::string>(properties, "Invocation"), kInvocation);
  EXPECT_EQ(value<std::string>(properties, "Owner"), "pi");
  EXPECT_EQ(value<uint32_t>(properties, "OwnerUID"), 1000u);
  EXPECT_EQ(value<std::string>(properties, "Description"), "text");
  EXPECT_EQ((value<std::map<std::string, std::string>>(properties, "Labels")).at("key"), "value");
  EXPECT_EQ(value<std::string>(properties, "State"), "running");
  EXPECT_EQ(value<std::string>(properties, "Result"), "exit-code");
  EXPECT_EQ(value<std::string>(properties, "EndReason"), "driver-exited");
  EXPECT_EQ(value<std::string>(properties, "EndMessage"), "message");
  EXPECT_EQ(value<std::string>(properties, "EndedBy"), "uid 0");
  EXPECT_EQ(value<std::string>(properties, "Placement"), "group");
  EXPECT_EQ(value<std::string>(properties, "ControlGroup"), "/corral/r1");
  EXPECT_EQ(value<uint64_t>(properties, "ControlGroupId"), 77u);
  EXPECT_EQ(value<std::string>(properties, "Containment"), "cooperative");
  EXPECT_EQ(value<uint32_t>(properties, "DriverPID"), 4711u);
  EXPECT_EQ(value<std::string>(properties, "DriverExit"), "exited");
  EXPECT_EQ(value<int32_t>(properties, "DriverStatus"), 7);
  EXPECT_EQ(value<uint32_t>(properties, "Descendants"), 9u);
  EXPECT_TRUE(value<bool>(properties, "Frozen"));
  EXPECT_EQ(value<uint32_t>(properties, "Leaks"), 3u);
  EXPECT_EQ(value<uint32_t>(properties, "Stuck"), 2u);
  EXPECT_EQ(value<uint64_t>(properties, "StartTimestamp"), 11u);
  EXPECT_EQ(value<uint64_t>(properties, "StartTimestampMonotonic"), 12u);
  EXPECT_EQ(value<uint64_t>(properties, "DriverExitTimestamp"), 13u);
  EXPECT_EQ(value<uint64_t>(properties, "DriverExitTimestampMonotonic"), 14u);
  EXPECT_EQ(value<uint64_t>(properties, "EndTimestamp"), 15u);
  EXPECT_EQ(value<uint64_t>(properties, "EndTimestampMonotonic"), 16u);
  EXPECT_EQ(value<std::string>(properties, "OnDriverExit"), "kill");
  EXPECT_EQ(value<uint64_t>(properties, "SettleUSec"), 200'000u);
  EXPECT_EQ(value<uint64_t>(properties, "GraceUSec"), 5'000'000u);
  EXPECT_EQ(value<std::string>(properties, "Kind"), "driver");
  EXPECT_EQ(value<std::string>(properties, "Enforcement"), "enforce");
  for (const char* limit : {"RuntimeMaxUSec", "HoldMaxUSec", "LeaseUSec"})
    EXPECT_EQ(value<uint64_t>(properties, limit), UINT64_MAX) << limit;
  for (const char* list : {"Keep", "Leases"})
    EXPECT_THAT(value<std::vector<std::string>>(properties, list), testing::IsEmpty()) << list;
  EXPECT_EQ(value<sdbus::ObjectPath>(properties, "Parent"), "/");
  EXPECT_EQ(properties.size(), 39u);
}

TEST_F(Runs, ARunShowsHowItMayEnd) {
  using Texts = std::vector<std::string>;
  auto status = sample_status();
  status.report.kind = run::Kind::kept;
  status.report.enforcement = run::Enforcement::observe;
  status.policy.on_driver_exit = run::OnDriverExit::freeze;
  status.policy.runtime_max = std::chrono::microseconds{21};
  status.policy.hold_max = std::chrono::microseconds{22};
  status.policy.lease = std::chrono::microseconds{23};
  status.policy.keep = {"*/tmux"};
  status.leases = {"me: because"};
  const auto properties = must(client_.run_properties(publish(status)));
  EXPECT_EQ(value<std::string>(properties, "Kind"), "kept");
  EXPECT_EQ(value<std::string>(properties, "Enforcement"), "observe");
  EXPECT_EQ(value<std::string>(properties, "OnDriverExit"), "freeze");
  EXPECT_EQ(value<uint64_t>(properties, "RuntimeMaxUSec"), 21u);
  EXPECT_EQ(value<uint64_t>(properties, "HoldMaxUSec"), 22u);
  EXPECT_EQ(value<uint64_t>(properties, "LeaseUSec"), 23u);
  EXPECT_EQ(value<Texts>(properties, "Keep"), Texts{"*/tmux"});
  EXPECT_EQ(value<Texts>(properties, "Leases"), Texts{"me: because"});
}

TEST_F(Runs, ReleaseIsOfThisInvocationAndNamesTheNewRun) {
  const auto path = publish(sample_status());
  const auto kept = must(client_.release(path, {17, 18}));
  EXPECT_EQ(kept.id, "r1");
  EXPECT_EQ(kept.invocation, kInvocation);
  const std::string invalid = "org.freedesktop.DBus.Error.InvalidArgs";
  EXPECT_EQ(error_of(client_.release(path, {})), invalid);
  EXPECT_EQ(error_of(client_.release(path, {17, 0})), invalid);
  EXPECT_EQ(error_of(client_.release(path, std::vector<uint32_t>(1025, 17))),
            "org.corral.Corral1.Error.LimitExceeded");
  EXPECT_THAT(calls_seen(), testing::ElementsAre("Release " + kInvocation + " 2"));
}

TEST_F(Runs, AttachAndReportExitAreOfThisInvocation) {
  const auto path = publish(sample_status());
  must(client_.attach(path, 17));
  must(client_.report_exit(path, "killed", 9));
  EXPECT_EQ(error_of(client_.report_exit(path, "gone", 9)),
            "org.freedesktop.DBus.Error.InvalidArgs");
  EXPECT_THAT(calls_seen(), testing::ElementsAre("Attach " + kInvocation + " 17",
                                                 "ReportExit " + kInvocation + " killed 9"));
}

TEST_F(Runs, ANestedRunNamesItsParent) {
  auto status = sample_status();
  status.parent = run::DirectoryName{run::RunId::parse("outer").value(),
                                     run::Invocation::parse(kInvocation).value()};
  EXPECT_EQ(must(client_.run_property(publish(status), "Parent")).get<sdbus::ObjectPath>(),
            "/org/corral/Corral1/run/outer/" + kInvocation);
}

TEST_F(Runs, ARunThatIsWithdrawnIsGone) {
  const auto path = publish(sample_status());
  service_.on_loop([&] { service_.server().withdraw(sample_name().invocation); });
  EXPECT_EQ(error_of(client_.run_property(path, "Id")), kUnknownObject);
  service_.on_loop([&] { service_.server().withdraw(sample_name().invocation); });
}

TEST_F(Runs, ARunMayBeWithdrawnInsideACallOnIt) {
  const auto path = publish(sample_status());
  service_.calls.on_descendants = [&]() -> uint32_t {
    service_.server().withdraw(sample_name().invocation);
    service_.statuses.clear();
    return 4;
  };
  EXPECT_EQ(must(client_.run_property(path, "Descendants")).get<uint32_t>(), 4u);
  EXPECT_EQ(error_of(client_.run_property(path, "Descendants")), kUnknownObject);
  EXPECT_EQ(error_of(client_.get_run("r1")), "");
}

TEST_F(Runs, ARunThatIsWithdrawnInTheMiddleOfGetAllIsNotReadAgain) {
  const auto path = publish(sample_status());
  service_.calls.on_descendants = [&]() -> uint32_t {
    service_.server().withdraw(sample_name().invocation);
    service_.statuses.clear();
    return 4;
  };
  EXPECT_EQ(error_of(client_.run_properties(path)), kUnknownObject);
  EXPECT_EQ(error_of(client_.get_run("r1")), "");
}

TEST_F(Runs, AThousandRunsComeAndGo) {
  service_.on_loop([&] {
    for (int i = 0; i < 1'000; ++i) {
      char invocation[33];
      snprintf(invocation, sizeof invocation, "%032x", i);
      service_.statuses.push_back(
          std::make_unique<run::Status>(sample_status("r" + std::to_string(i), invocation)));
      service_.server().publish(*service_.statuses.back());
    }
  });
  char last[33];
  snprintf(last, sizeof last, "%032x", 999);
  const std::string path = std::string("/org/corral/Corral1/run/r999/") + last;
  EXPECT_EQ(must(client_.run_property(path, "Id")).get<std::string>(), "r999");
  service_.on_loop([&] {
    for (const auto& status : service_.statuses) {
      service_.server().withdraw(run::Invocation::parse(status->report.invocation).value());
    }
    service_.statuses.clear();
  });
  EXPECT_EQ(error_of(client_.run_property(path, "Id")), kUnknownObject);
}

}  // namespace
}  // namespace corral::bus
