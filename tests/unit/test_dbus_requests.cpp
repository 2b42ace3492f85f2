#include <gmock/gmock.h>
#include <sdbus-c++/Types.h>

#include <map>
#include <optional>

#include "dbus/requests.h"

namespace corral::dbus {
namespace {

using run::FaultKind;
using std::string;
using testing::HasSubstr;
using testing::Optional;
using testing::Pair;

const string kInvocation = "0123456789abcdef0123456789abcdef";

TEST(DbusRequests, EndTakesItsOptions) {
  const auto request = end_request("r", {{"Invocation", kInvocation},
                                         {"GraceUSec", uint64_t{20'000'000}},
                                         {"Reason", string("why")}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->ref.invocation->text(), kInvocation);
  EXPECT_THAT(request->options.grace, Optional(std::chrono::seconds{20}));
  EXPECT_EQ(request->options.reason, "why");
}

TEST(DbusRequests, EndWithoutOptionsLeavesTheGraceToTheRun) {
  const auto request = end_request("r", {});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->options.grace, std::nullopt);
  EXPECT_EQ(request->ref.invocation, std::nullopt);
}

TEST(DbusRequests, EndRefusesAGraceThatOutlastsTheCaller) {
  const auto request = end_request("r", {{"GraceUSec", uint64_t{20'000'001}}});
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().kind, FaultKind::invalid_args);
  EXPECT_THAT(request.error().message, HasSubstr("GraceUSec"));
}

TEST(DbusRequests, EndThatNobodyWaitsForTakesAnyGraceOfARun) {
  const auto request = end_request("r", {{"NoBlock", true}, {"GraceUSec", uint64_t{20'000'001}}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_TRUE(request->options.no_block);
  EXPECT_THAT(request->options.grace, Optional(std::chrono::microseconds{20'000'001}));
  EXPECT_FALSE(end_request("r", {{"NoBlock", false}, {"GraceUSec", uint64_t{20'000'001}}}));
  EXPECT_TRUE(end_request("r", {{"NoBlock", true}, {"GraceUSec", uint64_t{3'600'000'000}}}));
  EXPECT_FALSE(end_request("r", {{"NoBlock", true}, {"GraceUSec", uint64_t{3'600'000'001}}}));
}

TEST(DbusRequests, EndSparesItsCallerUnlessItIsAllowed) {
  EXPECT_FALSE(end_request("r", {})->options.allow_self);
  EXPECT_FALSE(end_request("r", {})->options.no_block);
  EXPECT_TRUE(end_request("r", {{"AllowSelf", true}})->options.allow_self);
  EXPECT_FALSE(end_request("r", {{"AllowSelf", uint32_t{1}}})) << "of another type";
}

TEST(DbusRequests, EndRunsTakesAFilterAndWhatEndTakes) {
  const auto request = end_runs_request({{"Owner", string("pi")},
                                         {"State", string("holding")},
                                         {"Parent", string("outer")},
                                         {"OlderThanUSec", uint64_t{7}},
                                         {"DryRun", true},
                                         {"Reason", string("why")},
                                         {"GraceUSec", uint64_t{20'000'000}}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->filter.owner, Optional(string("pi")));
  EXPECT_THAT(request->filter.state, Optional(run::State::holding));
  EXPECT_THAT(request->filter.parent, Optional(string("outer")));
  EXPECT_THAT(request->older_than, Optional(std::chrono::microseconds{7}));
  EXPECT_TRUE(request->dry_run);
  EXPECT_EQ(request->end.reason, "why");
  EXPECT_THAT(request->end.grace, Optional(std::chrono::seconds{20}));
  EXPECT_FALSE(end_runs_request({})->dry_run);
  EXPECT_EQ(end_runs_request({})->older_than, std::nullopt);
}

TEST(DbusRequests, EndRunsRefusesWhatEndTakesAndItDoesNot) {
  EXPECT_FALSE(end_runs_request({{"GraceUSec", uint64_t{20'000'001}}}));
  EXPECT_FALSE(end_runs_request({{"NoBlock", true}}));
  EXPECT_FALSE(end_runs_request({{"All", true}})) << "what has ended cannot be ended";
  EXPECT_FALSE(end_runs_request({{"OlderThanUSec", int64_t{-1}}}));
}

TEST(DbusRequests, SetChangesOnlyWhatIsGiven) {
  const auto nothing = set_request("r", {});
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_EQ(nothing->options.owner, std::nullopt);
  EXPECT_EQ(nothing->options.labels, std::nullopt);
  EXPECT_EQ(nothing->options.runtime_max, std::nullopt);
  EXPECT_EQ(nothing->options.enforcement, std::nullopt);
  const auto request = set_request("r", {{"Owner", string("")},
                                         {"Labels", std::map<string, string>{}},
                                         {"RuntimeMaxUSec", UINT64_MAX},
                                         {"Enforcement", string("observe")}});
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_THAT(request->options.owner, Optional(string("")));
  EXPECT_THAT(request->options.labels, Optional(testing::IsEmpty()));
  EXPECT_THAT(request->options.runtime_max, Optional(std::optional<std::chrono::microseconds>()));
  EXPECT_THAT(request->options.enforcement, Optional(run::Enforcement::observe));
}

TEST(DbusRequests, SetRefusesWhatTheStartRefuses) {
  EXPECT_FALSE(set_request("r", {{"Owner", string(257, 'x')}}));
  EXPECT_FALSE(set_request("r", {{"RuntimeMaxUSec", uint64_t{0}}}));
  EXPECT_FALSE(set_request("r", {{"Enforcement", string("")}}));
  EXPECT_FALSE(set_request("r", {{"Token", string("t")}})) << "a token is of the start";
}

TEST(DbusRequests, WhoHoldsALeaseAndWhyAreBounded) {
  EXPECT_TRUE(lease_request("r", string(256, 'x'), string(256, 'x')));
  EXPECT_THAT(lease_request("r", string(257, 'x'), "").error().message, HasSubstr("who"));
  EXPECT_THAT(lease_request("r", "", string(257, 'x')).error().message, HasSubstr("why"));
}

TEST(DbusRequests, EnforcementIsOneOfTwoWords) {
  EXPECT_EQ(enforcement_request("observe").value(), run::Enforcement::observe);
  EXPECT_EQ(enforcement_request("enforce").value(), run::Enforcement::enforce);
  EXPECT_EQ(enforcement_request("").error().kind, FaultKind::invalid_args);
}

TEST(DbusRequests, AnInvocationIsThirtyTwoHexDigits) {
  for (const string& text : {string(""), string(32, 'G'), string(32, 'A'), string(31, 'a')}) {
    EXPECT_FALSE(ref_request("GetReport", "r", {{"Invocation", text}})) << text;
  }
  EXPECT_FALSE(ref_request("GetReport", "r", {{"Invocation", string(33, 'a')}}));
  EXPECT_TRUE(ref_request("GetReport", "r", {{"Invocation", kInvocation}}));
}

TEST(DbusRequests, WaitKnowsItsThreeWordsAndItsDefaults) {
  const auto bare = wait_request("r", {});
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->options.until, Until::settled);
  EXPECT_EQ(bare->options.timeout, std::chrono::seconds{20});
  EXPECT_EQ(wait_request("r", {{"Until", string("driver")}})->options.until, Until::driver);
  EXPECT_EQ(wait_request("r", {{"Until", string("settled")}})->options.until, Until::settled);
  EXPECT_EQ(wait_request("r", {{"Until", string("ended")}})->options.until, Until::ended);
  EXPECT_FALSE(wait_request("r", {{"Until", string("then")}}));
  EXPECT_FALSE(wait_request("r", {{"TimeoutUSec", uint64_t{3'600'000'001}}}));
}

TEST(DbusRequests, SignalTakesWhatKillTakes) {
  EXPECT_EQ(signal_request("r", "all", 9, {})->whom, Whom::all);
  EXPECT_EQ(signal_request("r", "driver", 64, {})->signal, 64);
  for (const int bad : {-1, 0, 32, 33, 65})
    EXPECT_FALSE(signal_request("r", "all", bad, {})) << bad;
  const auto whom = signal_request("r", "some", 9, {});
  ASSERT_FALSE(whom);
  EXPECT_THAT(whom.error().message, HasSubstr("\"some\""));
}

TEST(DbusRequests, RunFilterTakesItsKeysAndNoOthers) {
  const auto filter = run_filter(
      {{"Owner", string("pi")}, {"State", string("running")}, {"Label", string("k=v=w")}});
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_THAT(filter->owner, Optional(string("pi")));
  EXPECT_THAT(filter->state, Optional(run::State::running));
  EXPECT_THAT(filter->label, Optional(Pair("k", Optional(string("v=w")))));
  EXPECT_FALSE(filter->all);
  EXPECT_FALSE(run_filter({{"State", string("asleep")}}));
  EXPECT_THAT(run_filter({{"Parent", string("p")}})->parent, Optional(string("p")));
  EXPECT_THAT(run_filter({{"Parent", string("")}})->parent, Optional(string(""))) << "of none";
  EXPECT_FALSE(run_filter({{"Parent", string("a/b")}}));
  EXPECT_FALSE(run_filter({{"OlderThanUSec", uint64_t{1}}})) << "that is EndRuns'";
  EXPECT_FALSE(run_filter({{"Label", string("")}}));
  EXPECT_FALSE(run_filter({{"Label", string("=v")}}));
}

TEST(DbusRequests, AskingForEndedRunsAsksForAllOfThem) {
  EXPECT_TRUE(run_filter({{"State", string("ended")}})->all);
  EXPECT_TRUE(run_filter({{"All", true}})->all);
}

TEST(DbusRequests, ProcessFilterTakesItsKeysAndNoOthers) {
  const auto filter = process_filter("ListLeaks", {{"Run", string("r")},
                                                   {"Invocation", kInvocation},
                                                   {"Owner", string("pi")},
                                                   {"Label", string("k")},
                                                   {"PID", uint32_t{7}},
                                                   {"Port", uint16_t{5173}},
                                                   {"Offset", uint64_t{10}},
                                                   {"Limit", uint64_t{20}}});
  ASSERT_TRUE(filter) << filter.error().message;
  EXPECT_EQ(filter->run->text(), "r");
  EXPECT_THAT(filter->label, Optional(Pair("k", std::nullopt)));
  EXPECT_THAT(filter->pid, Optional(7u));
  EXPECT_THAT(filter->port, Optional(uint16_t{5173}));
  EXPECT_EQ(filter->offset, 10u);
  EXPECT_EQ(filter->limit, 20u);
  EXPECT_FALSE(process_filter("ListLeaks", {{"Placement", string("group")}}));
  EXPECT_FALSE(process_filter("ListLeaks", {{"Port", uint32_t{65536}}}));
  EXPECT_FALSE(process_filter("ListLeaks", {{"Port", uint32_t{0}}}));
  EXPECT_FALSE(process_filter("ListLeaks", {{"PID", uint32_t{0}}}));
  EXPECT_FALSE(process_filter("ListLeaks", {{"Limit", uint32_t{1001}}}));
  EXPECT_FALSE(process_filter("ListLeaks", {{"Run", string("-")}}));
}

TEST(DbusRequests, AFaultNamesTheCall) {
  EXPECT_THAT(process_filter("ListLeaks", {{"X", true}}).error().message,
              testing::StartsWith("ListLeaks: "));
  EXPECT_THAT(ref_request("ForgetRun", "", {}).error().message, testing::StartsWith("ForgetRun: "));
}

}  // namespace
}  // namespace corral::dbus
