#include "bus/fixture.h"

namespace corral::bus {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kPath = "/org/corral/Corral1/run/r1/" + kInvocation;
using Methods = BusTest;

TEST_F(Methods, StartRunPassesTheSpecOnAndAnswersWithPathAndInvocation) {
  std::vector<std::string> argv;
  std::string owner;
  service_.calls.on_start = [&](const dbus::Caller&, run::Spec spec, auto reply) {
    argv = spec.argv;
    owner = spec.owner;
    reply(sample_name(spec.id.text()));
  };
  const auto started =
      must(client_.start_run("r1", {"sleep", "5"}, {{"Owner", std::string("pi")}}));
  EXPECT_EQ(started.path, kPath);
  EXPECT_EQ(started.invocation, kInvocation);
  EXPECT_THAT(argv, ElementsAre("sleep", "5"));
  EXPECT_EQ(owner, "pi");
}

TEST_F(Methods, EndRunAnswersWithTheReportWhenItIsThere) {
  dbus::Reply<run::Report> held;
  service_.calls.on_end = [&](const dbus::Caller&, const dbus::RunRef& ref, dbus::EndOptions end,
                              dbus::Reply<run::Report> reply) {
    EXPECT_EQ(ref.invocation->text(), kInvocation);
    EXPECT_EQ(end.grace, std::chrono::seconds{1});
    EXPECT_EQ(end.reason, "enough");
    held = std::move(reply);
  };
  RawClient raw(bus_.address());
  const auto message = raw.method("EndRun");
  sd_bus_message_append(message.get(), "sa{sv}", "r1", 3, "Invocation", "s", kInvocation.c_str(),
                        "GraceUSec", "t", uint64_t{1'000'000}, "Reason", "s", "enough");
  raw.send(message);
  while (calls_seen().empty()) (void)sd_bus_process(raw.bus(), nullptr);
  EXPECT_THAT(raw.outcomes(), IsEmpty());
  service_.on_loop([&] { held(sample_status().report); });
  EXPECT_TRUE(raw.wait_outcomes(1));
  EXPECT_THAT(raw.outcomes(), ElementsAre("ok"));
}

TEST_F(Methods, AReportHasItsFieldsInTheirTypesAndNoneThatIsAbsent) {
  const Dict report = must(client_.get_report("r1"));
  EXPECT_EQ(value<std::string>(report, "Id"), "r1");
  EXPECT_EQ(value<uint32_t>(report, "OwnerUID"), 1000u);
  EXPECT_EQ(value<std::string>(report, "Result"), "exit-code");
  EXPECT_EQ(value<std::string>(report, "EndReason"), "driver-exited");
  EXPECT_EQ(value<int32_t>(report, "DriverStatus"), 7);
  EXPECT_EQ(value<uint64_t>(report, "LeaksFound"), 3u);
  EXPECT_EQ(value<uint64_t>(report, "CPUUSec"), 99u);
  EXPECT_EQ(value<uint64_t>(report, "EndTimestampMonotonic"), 16u);
  EXPECT_FALSE(value<bool>(report, "SnapshotExact"));
  EXPECT_EQ(report.count("MemoryPeak"), 0u);
  EXPECT_EQ(report.count("Token"), 0u);
  const auto leaks = value<std::vector<Dict>>(report, "Leaks");
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(value<uint32_t>(leaks[0], "PID"), 17u);
  EXPECT_THAT(value<std::vector<std::string>>(leaks[0], "Argv"), ElementsAre("node", "server.js"));
  EXPECT_THAT(value<std::vector<std::string>>(leaks[0], "Listening"),
              ElementsAre("tcp:127.0.0.1:5173"));
  EXPECT_EQ(value<std::string>(leaks[0], "Detached"), "own-session");
  EXPECT_EQ(value<std::string>(leaks[0], "Outcome"), "term");
  EXPECT_EQ(value<uint64_t>(leaks[0], "RSS"), 4096u);
}

TEST_F(Methods, WaitRunAnswersWithWhatGetAllSaysButDescendants) {
  const Dict status = must(client_.wait_run("r1"));
  Dict properties = must(client_.run_properties(publish(sample_status())));
  EXPECT_EQ(properties.erase("Descendants"), 1u);
  ASSERT_EQ(status.size(), properties.size());
  for (const auto& [name, property] : properties) {
    ASSERT_EQ(status.count(name), 1u) << name;
    EXPECT_EQ(status.at(name).peekValueType(), property.peekValueType()) << name;
  }
  EXPECT_EQ(value<uint32_t>(status, "Leaks"), 3u);
  for (const char* limit : {"RuntimeMaxUSec", "HoldMaxUSec", "LeaseUSec"}) {
    EXPECT_EQ(value<uint64_t>(status, limit), UINT64_MAX) << limit;
    EXPECT_EQ(value<uint64_t>(properties, limit), UINT64_MAX) << limit;
  }
}

TEST_F(Methods, EndRunsHasARowARun) {
  const auto rows = must(client_.end_runs({{"DryRun", true}}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(value<std::string>(rows[0], "Id"), "r1");
  EXPECT_EQ(value<std::string>(rows[0], "Invocation"), kInvocation);
  EXPECT_EQ(value<std::string>(rows[0], "State"), "holding");
  EXPECT_EQ(value<uint64_t>(rows[0], "Processes"), 3u);
  EXPECT_EQ(value<std::string>(rows[0], "Outcome"), "would-end");
  EXPECT_EQ(value<std::string>(rows[0], "Message"), "");
}

TEST_F(Methods, FreezingThawingAndSettingAnswerWithNothing) {
  must(client_.freeze_run("r1", {{"Invocation", kInvocation}}));
  must(client_.thaw_run("r1"));
  must(client_.set_run("r1", {{"Owner", std::string("new")}}));
  must(client_.set_enforcement("observe"));
  EXPECT_THAT(calls_seen(),
              ElementsAre("FreezeRun r1", "ThawRun r1", "SetRun r1", "SetEnforcement observe"));
}

TEST_F(Methods, ALeaseIsATimeOrAnFd) {
  must(client_.renew_lease("r1", 7));
  must(client_.renew_lease("r1", 0));
  EXPECT_TRUE(must(client_.acquire_lease("r1", "me", "because")));
  EXPECT_THAT(calls_seen(),
              ElementsAre("RenewLease r1 7", "RenewLease r1 0", "AcquireLease r1 me because"));
}

TEST_F(Methods, AdoptProcessesNamesTheRunAndChecksThePids) {
  const auto adopted = must(client_.adopt_processes("r1", {17, 18}));
  EXPECT_EQ(adopted.path, kPath);
  EXPECT_EQ(adopted.invocation, kInvocation);
  const std::string invalid = "org.freedesktop.DBus.Error.InvalidArgs";
  EXPECT_EQ(error_of(client_.adopt_processes("r1", {})), invalid);
  EXPECT_EQ(error_of(client_.adopt_processes("r1", {0})), invalid);
  EXPECT_THAT(calls_seen(), ElementsAre("AdoptProcesses r1 2"));
}

TEST_F(Methods, OpenRunNamesTheRunAndItsDirectory) {
  std::optional<std::string> parent;
  service_.calls.on_open = [&](run::Spec spec) {
    parent = spec.parent;
    return dbus::OpenedRun{sample_name("r1"), "/sys/fs/cgroup/r1"};
  };
  const auto opened = must(client_.open_run("r1", {{"Parent", std::string("outer")}}));
  EXPECT_EQ(opened.path, kPath);
  EXPECT_EQ(opened.invocation, kInvocation);
  EXPECT_EQ(opened.directory, "/sys/fs/cgroup/r1");
  EXPECT_EQ(parent, "outer");
}

TEST_F(Methods, SignalRunAndForgetRunAnswerWithNothing) {
  must(client_.signal_run("r1", "all", 9));
  must(client_.forget_run("r1", {{"Invocation", kInvocation}}));
  EXPECT_THAT(calls_seen(), ElementsAre("SignalRun r1", "ForgetRun r1"));
}

TEST_F(Methods, GetRunAndGetRunByPIDNameTheRun) {
  const auto by_id = must(client_.get_run("r1"));
  EXPECT_EQ(by_id.path, kPath);
  EXPECT_EQ(by_id.id, "r1");
  EXPECT_EQ(by_id.invocation, kInvocation);
  EXPECT_EQ(must(client_.get_run_by_pid(0)).path, kPath);
}

TEST_F(Methods, ListRunsHasARowARun) {
  const auto rows = must(client_.list_runs({{"Owner", std::string("pi")}}));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].id, "r1");
  EXPECT_EQ(rows[0].path, kPath);
  EXPECT_EQ(rows[0].state, "running");
  EXPECT_EQ(value<uint32_t>(rows[0].more, "Leaks"), 3u);
  EXPECT_EQ((value<std::map<std::string, std::string>>(rows[0].more, "Labels")),
            (std::map<std::string, std::string>{{"key", "value"}}));
}

TEST_F(Methods, GetConfigurationHasARowAKey) {
  const auto rows = must(client_.get_configuration());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].section, "Runs");
  EXPECT_EQ(rows[0].key, "GraceSec");
  EXPECT_EQ(rows[0].value, "2s");
  EXPECT_EQ(rows[0].source, "/etc/corral/corrald.conf:3");
}

TEST_F(Methods, StartRunAndOpenRunHaveTheServicesPolicyWhereTheySayNothing) {
  using std::chrono::seconds;
  service_.calls.policy.settle = seconds{7};
  service_.calls.policy.grace = seconds{8};
  run::Policy started, opened;
  service_.calls.on_start = [&](const dbus::Caller&, run::Spec spec,
                                dbus::Reply<dbus::RunName> reply) {
    started = spec.policy;
    reply(sample_name());
  };
  service_.calls.on_open = [&](run::Spec spec) {
    opened = spec.policy;
    return dbus::OpenedRun{sample_name("r1"), "/sys/fs/cgroup/r1"};
  };
  must(client_.start_run("r1", {"/bin/true"}, {{"GraceUSec", uint64_t{1'000'000}}}));
  must(client_.open_run("r1"));
  EXPECT_EQ(started.settle, seconds{7});
  EXPECT_EQ(started.grace, seconds{1});
  EXPECT_EQ(opened.grace, seconds{8});
}

TEST_F(Methods, ListProcessesAndListLeaksCarryRunAndInvocation) {
  for (const auto& rows : {must(client_.list_processes()), must(client_.list_leaks())}) {
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(value<std::string>(rows[0], "Run"), "r1");
    EXPECT_EQ(value<std::string>(rows[0], "Invocation"), kInvocation);
    EXPECT_EQ(value<std::string>(rows[0], "Comm"), "node");
  }
}

TEST_F(Methods, AnFdArrivesAsAStreamOfItsOwn) {
  bool open = false;
  service_.calls.on_start = [&](const dbus::Caller&, run::Spec spec, auto reply) {
    open = spec.output.kind == run::Stream::Kind::fd && spec.output.fd.get() > 2;
    reply(sample_name());
  };
  must(client_.start_run("r1", {"true"}, {{"StandardOutput", sdbus::UnixFd(2)}}));
  EXPECT_TRUE(open);
}

TEST_F(Methods, TheManagerHasItsProperties) {
  EXPECT_EQ(must(client_.manager_property("Version")).get<std::string>(), "0.1.0");
  EXPECT_EQ(must(client_.manager_property("BootId")).get<std::string>(), std::string(32, 'b'));
  EXPECT_THAT(must(client_.manager_property("Features")).get<std::vector<std::string>>(),
              ElementsAre("cgroup-kill"));
  EXPECT_EQ(must(client_.manager_property("Runs")).get<uint32_t>(), 5u);
  EXPECT_EQ(must(client_.manager_property("Leaks")).get<uint32_t>(), 6u);
  EXPECT_EQ(must(client_.manager_property("Enforcement")).get<std::string>(), "observe");
}

}  // namespace
}  // namespace corral::bus
