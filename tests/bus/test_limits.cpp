#include "bus/fixture.h"

namespace corral::bus {
namespace {

using testing::Lt;
using testing::SizeIs;

constexpr size_t kHugeArgv = 1'900'000;
using Limits = BusTest;

// Half a megabyte of sockets.
run::Process wide_process() {
  auto process = sample_process();
  process.listening.assign(100, "unix:/" + std::string(5'000, 'x'));
  return process;
}

run::Process huge_process() {
  auto process = sample_process();
  process.argv = {"x", std::string(kHugeArgv, 'a')};
  return process;
}

TEST_F(Limits, TwentyLeaksWithHugeArgvsDisconnectNobody) {
  service_.calls.on_report = []() -> run::Answer<run::Report> {
    auto report = sample_status().report;
    report.leaks.assign(20, huge_process());
    return report;
  };
  service_.calls.on_rows = [](auto&) -> run::Answer<std::vector<run::Process>> {
    return std::vector<run::Process>(20, huge_process());
  };
  const auto leaks = value<std::vector<Dict>>(must(client_.get_report("r1")), "Leaks");
  ASSERT_THAT(leaks, SizeIs(20));
  EXPECT_TRUE(value<bool>(leaks[19], "ArgvTruncated"));
  EXPECT_EQ(value<std::vector<std::string>>(leaks[19], "Argv")[1].size(), run::kArgvBytes - 1);
  EXPECT_THAT(must(client_.list_leaks()), SizeIs(20));
  EXPECT_EQ(service_.lost(), 0);
}

TEST_F(Limits, AProcessNameThatIsNotUtf8IsEscapedEverywhere) {
  auto bad = sample_process();
  bad.comm = "a\xff\x01z";
  bad.argv = {"\xc3"};
  bad.listening = {"unix:/run/\xfe"};
  service_.calls.on_report = [=]() -> run::Answer<run::Report> {
    auto report = sample_status().report;
    report.leaks = {bad};
    report.end_message = "\xff";
    return report;
  };
  service_.calls.on_rows = [=](auto&) -> run::Answer<std::vector<run::Process>> {
    return std::vector<run::Process>{bad};
  };
  const auto report = must(client_.get_report("r1"));
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "\\xff");
  EXPECT_EQ(value<std::string>(value<std::vector<Dict>>(report, "Leaks")[0], "Comm"),
            "a\\xff\\x01z");
  EXPECT_EQ(value<std::vector<std::string>>(must(client_.list_processes())[0], "Argv")[0], "\\xc3");
  auto status = sample_status();
  status.report.ended_by = "\xff";
  EXPECT_EQ(must(client_.run_property(publish(status), "EndedBy")).get<std::string>(), "\\xff");
}

TEST_F(Limits, RowsThatComeToTooMuchAreRefusedWithTheRemedy) {
  service_.calls.on_rows = [wide = wide_process()](const dbus::ProcessFilter& filter) {
    return run::Answer<std::vector<run::Process>>(std::vector<run::Process>(filter.limit, wide));
  };
  const auto refused = client_.list_processes({{"Limit", uint32_t{40}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().name, "org.corral.Corral1.Error.LimitExceeded");
  EXPECT_THAT(refused.error().message, testing::HasSubstr("Limit"));
  EXPECT_THAT(must(client_.list_processes({{"Limit", uint32_t{10}}})), SizeIs(10));
}

TEST_F(Limits, RunsThatComeToTooMuchAreRefusedWithTheRemedy) {
  auto status = sample_status();
  for (int i = 0; i < 32; ++i) status.labels[std::to_string(i)] = std::string(256, 'v');
  service_.calls.on_list = [&](const dbus::RunFilter& filter) {
    const size_t count = filter.owner ? 1'000 : 2'000;
    return run::Answer<std::vector<const run::Status*>>(
        std::vector<const run::Status*>(count, &status));
  };
  const auto refused = client_.list_runs();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().name, "org.corral.Corral1.Error.LimitExceeded");
  EXPECT_THAT(must(client_.list_runs({{"Owner", std::string("pi")}})), SizeIs(1'000));
}

TEST_F(Limits, AReportThatIsTooLongArrivesWithLeaksLeftOut) {
  service_.calls.on_report = []() -> run::Answer<run::Report> {
    auto report = sample_status().report;
    report.leaks.assign(20, wide_process());
    return report;
  };
  const auto report = must(client_.get_report("r1"));
  const auto listed = value<std::vector<Dict>>(report, "Leaks").size();
  EXPECT_THAT(listed, Lt(20u));
  EXPECT_EQ(value<uint64_t>(report, "LeaksOmitted") + listed, 20u);
}

TEST_F(Limits, ThreeHundredClientsAtOnceAreEachAnsweredOnce) {
  constexpr size_t kClients = 300;
  std::vector<dbus::Reply<run::Status>> held;
  std::set<std::string> senders;
  service_.calls.on_wait = [&](const dbus::Caller& caller, dbus::Reply<run::Status> reply) {
    senders.insert(caller.sender);
    held.push_back(std::move(reply));
    if (held.size() < kClients) return;
    for (auto& answer : held) answer(sample_status());
  };
  std::vector<RawClient> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.emplace_back(bus_.address());
    const auto message = clients.back().method("WaitRun");
    sd_bus_message_append(message.get(), "sa{sv}", "r1", 0);
    clients.back().send(message);
  }
  for (auto& client : clients) {
    ASSERT_TRUE(client.wait_outcomes(1));
    EXPECT_THAT(client.outcomes(), testing::ElementsAre("ok"));
  }
  service_.on_loop([&] { held.clear(); });
  EXPECT_THAT(senders, SizeIs(kClients));
}

}  // namespace
}  // namespace corral::bus
