#include <fcntl.h>
#include <gmock/gmock.h>
#include <sdbus-c++/Types.h>

#include "dbus/requests.h"

namespace corral::dbus {
namespace {

using run::FaultKind;
using run::Stream;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

run::Spec must(run::Answer<run::Spec> answer) {
  if (!answer) throw std::runtime_error(answer.error().message);
  return std::move(*answer);
}

run::Answer<run::Spec> start(Dict options) {
  return start_request("r1", {"sleep", "1"}, std::move(options));
}

// What a StartRun with this one option is refused with.
run::Fault refusal(const std::string& key, const sdbus::Variant& value) {
  const auto answer = start({{key, value}});
  if (answer) return {FaultKind::start_failed, "not refused: " + key};
  return answer.error();
}

TEST(DbusStartRequest, WithoutOptionsHasTheDefaults) {
  const auto spec = must(start({}));
  EXPECT_EQ(spec.id.text(), "r1");
  EXPECT_THAT(spec.argv, ElementsAre("sleep", "1"));
  EXPECT_EQ(spec.working_directory, "/");
  EXPECT_EQ(spec.input.kind, Stream::Kind::null);
  EXPECT_EQ(spec.output.kind, Stream::Kind::null);
  EXPECT_EQ(spec.error.kind, Stream::Kind::null);
  EXPECT_EQ(spec.policy, run::Policy{});
}

TEST(DbusStartRequest, TakesEveryOptionThatIsDue) {
  using std::string;
  const auto spec = must(start({{"Owner", string("pi")},
                                {"Token", string("t")},
                                {"Description", string("d")},
                                {"Labels", std::map<string, string>{{"k", "v"}}},
                                {"WorkingDirectory", string("/tmp")},
                                {"Environment", std::vector<string>{"A=b=c", "E="}},
                                {"StandardOutput", string("append:/tmp/o")},
                                {"StandardError", string("truncate:/tmp/e")},
                                {"OnDriverExit", string("kill")},
                                {"SettleUSec", uint64_t{1}},
                                {"GraceUSec", int32_t{2}},
                                {"TermSignal", int32_t{2}}}));
  EXPECT_EQ(spec.owner + spec.token + spec.description, "pitd");
  EXPECT_THAT(spec.labels, ElementsAre(Pair("k", "v")));
  EXPECT_EQ(spec.working_directory, "/tmp");
  EXPECT_THAT(spec.environment, ElementsAre("A=b=c", "E="));
  EXPECT_EQ(spec.output.kind, Stream::Kind::append);
  EXPECT_EQ(spec.output.path, "/tmp/o");
  EXPECT_EQ(spec.error.kind, Stream::Kind::truncate);
  EXPECT_EQ(spec.policy.settle.count(), 1);
  EXPECT_EQ(spec.policy.grace.count(), 2);
  EXPECT_EQ(spec.policy.term_signal, 2);
}

TEST(DbusStartRequest, TakesAnFdForAStream) {
  const UniqueFd null{open("/dev/null", O_RDWR | O_CLOEXEC)};
  const auto spec = must(start({{"StandardInput", sdbus::UnixFd(null.get())}}));
  EXPECT_EQ(spec.input.kind, Stream::Kind::fd);
  EXPECT_TRUE(spec.input.fd);
}

TEST(DbusStartRequest, RefusesAnIdOutsideTheRuleAndSaysTheRule) {
  for (const std::string id : {"", "-a", ".a", "a/b", "a b"}) {
    const auto answer = start_request(id, {"true"}, {});
    ASSERT_FALSE(answer) << id;
    EXPECT_EQ(answer.error().kind, FaultKind::invalid_args);
    EXPECT_THAT(answer.error().message, HasSubstr(std::string(run::RunId::kRule)));
  }
  EXPECT_FALSE(start_request(std::string(129, 'x'), {"true"}, {}));
  EXPECT_TRUE(start_request(std::string(128, 'x'), {"true"}, {}));
}

TEST(DbusStartRequest, RefusesAnEmptyArgvAndAnEmptyProgram) {
  EXPECT_EQ(start_request("r1", {}, {}).error().message, "StartRun: argv is empty");
  EXPECT_EQ(start_request("r1", {""}, {}).error().message, "StartRun: argv[0] is empty");
  EXPECT_TRUE(start_request("r1", {"a", ""}, {}));
}

TEST(DbusStartRequest, RefusesTheJournalAsNotSupported) {
  for (const char* stream : {"StandardInput", "StandardOutput", "StandardError"}) {
    EXPECT_EQ(refusal(stream, std::string("journal")).kind, FaultKind::not_supported);
  }
}

TEST(DbusStartRequest, RefusesOptionsThatComeLaterAsUnknown) {
  for (const char* key : {"Placement", "User"}) {
    EXPECT_THAT(refusal(key, std::string("x")).message, HasSubstr(std::string("\"") + key + "\""));
  }
}

TEST(DbusStartRequest, TakesHowTheRunMayEnd) {
  const auto policy = must(start({{"OnDriverExit", std::string("freeze")},
                                  {"RuntimeMaxUSec", uint64_t{3}},
                                  {"HoldMaxUSec", int32_t{4}},
                                  {"LeaseUSec", uint16_t{5}},
                                  {"Keep", std::vector<std::string>{"*/tmux", "/opt/*"}},
                                  {"Enforcement", std::string("observe")}}))
                          .policy;
  EXPECT_EQ(policy.on_driver_exit, run::OnDriverExit::freeze);
  EXPECT_EQ(policy.runtime_max, std::chrono::microseconds{3});
  EXPECT_EQ(policy.hold_max, std::chrono::microseconds{4});
  EXPECT_EQ(policy.lease, std::chrono::microseconds{5});
  EXPECT_THAT(policy.keep, ElementsAre("*/tmux", "/opt/*"));
  EXPECT_EQ(policy.enforcement, run::Enforcement::observe);
}

TEST(DbusStartRequest, ALimitIsNoneOrMoreThanNothing) {
  run::Policy defaults;
  defaults.runtime_max = defaults.hold_max = std::chrono::seconds{9};
  defaults.on_driver_exit = run::OnDriverExit::report;
  const auto with = [&](Dict options) {
    return must(start_request("r1", {"true"}, std::move(options), defaults)).policy;
  };
  EXPECT_EQ(with({}).runtime_max, std::chrono::seconds{9});
  EXPECT_EQ(with({{"RuntimeMaxUSec", UINT64_MAX}}).runtime_max, std::nullopt);
  EXPECT_EQ(with({{"HoldMaxUSec", UINT64_MAX}}).hold_max, std::nullopt);
  for (const char* key : {"RuntimeMaxUSec", "HoldMaxUSec", "LeaseUSec"}) {
    EXPECT_THAT(refusal(key, uint64_t{0}).message, HasSubstr(key));
    EXPECT_THAT(refusal(key, int64_t{-1}).message, HasSubstr(key));
    EXPECT_THAT(refusal(key, std::string("1min")).message, HasSubstr(key));
  }
}

TEST(DbusStartRequest, RefusesWhatContradictsItself) {
  const std::vector<std::string> globs = {"*"};
  const auto kept =
      start({{"OnDriverExit", std::string("report")}, {"Keep", sdbus::Variant(globs)}});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().kind, FaultKind::invalid_args);
  EXPECT_THAT(kept.error().message, HasSubstr("Keep"));
  EXPECT_THAT(refusal("HoldMaxUSec", uint64_t{1}).message, HasSubstr("OnDriverExit kill"));
  EXPECT_TRUE(start({{"HoldMaxUSec", UINT64_MAX}})) << "no bound on what does not come";
}

TEST(DbusStartRequest, AGlobMustBeAbleToMatchAPath) {
  const auto keep = [](std::vector<std::string> globs) { return refusal("Keep", globs); };
  EXPECT_THAT(keep({"*/ok", "tmux"}).message, HasSubstr("\"tmux\""));
  EXPECT_EQ(keep({""}).kind, FaultKind::invalid_args);
  EXPECT_EQ(keep(std::vector<std::string>(17, "*")).kind, FaultKind::limit_exceeded);
  EXPECT_EQ(keep({"/" + std::string(1024, 'x')}).kind, FaultKind::limit_exceeded);
}

TEST(DbusStartRequest, OpenRunKnowsNothingOfADriver) {
  for (const char* key : {"WorkingDirectory", "Environment", "StandardInput"}) {
    const auto spec = open_request("r1", {{key, sdbus::Variant(std::string("/"))}});
    ASSERT_FALSE(spec) << key;
    EXPECT_THAT(spec.error().message, HasSubstr(std::string("\"") + key + "\""));
  }
  const auto spec = open_request("r1", {{"Parent", sdbus::Variant(std::string())},
                                        {"GraceUSec", sdbus::Variant(uint64_t{7})}});
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->parent, "");
  EXPECT_EQ(spec->policy.grace.count(), 7);
  EXPECT_FALSE(open_request("a/b", {}));
}

TEST(DbusStartRequest, AnExitIsAWordAndWhatGoesWithIt) {
  using run::DriverExit;
  EXPECT_EQ(exit_request("exited", 255).value(), DriverExit::exited);
  EXPECT_EQ(exit_request("killed", 9).value(), DriverExit::killed);
  EXPECT_EQ(exit_request("dumped", 64).value(), DriverExit::dumped);
  for (const auto& [word, status] : {std::pair{"", 0},
                                     {"unknown", 0},
                                     {"gone", 0},
                                     {"exited", -1},
                                     {"exited", 256},
                                     {"killed", 0},
                                     {"dumped", 65}})
    EXPECT_EQ(exit_request(word, status).error().kind, FaultKind::invalid_args) << word << status;
}

TEST(DbusStartRequest, RefusesValuesThatMeanNothing) {
  using Texts = std::vector<std::string>;
  const std::vector<std::pair<std::string, sdbus::Variant>> cases = {
      {"OnDriverExit", std::string("x")},
      {"Enforcement", std::string("off")},
      {"StandardInput", std::string("append:/x")},
      {"StandardInput", std::string("truncate:/x")},
      {"StandardOutput", std::string("append:x")},
      {"StandardOutput", std::string("append:")},
      {"StandardOutput", std::string("/x")},
      {"StandardError", std::string("")},
      {"WorkingDirectory", std::string("x")},
      {"WorkingDirectory", std::string("")},
      {"Environment", Texts{"A"}},
      {"Environment", Texts{"=b"}},
      {"Environment", Texts{""}},
      {"TermSignal", int32_t{0}},
      {"TermSignal", int32_t{32}},
      {"TermSignal", int32_t{33}},
      {"TermSignal", int32_t{65}},
      {"TermSignal", int32_t{-1}},
      {"SettleUSec", int64_t{-1}},
      {"SettleUSec", uint64_t{3'600'000'001}},
      {"GraceUSec", uint64_t{3'600'000'001}},
      {"Labels", std::map<std::string, std::string>{{"", "v"}}},
      {"Labels", std::map<std::string, std::string>{{"a=b", "v"}}},
      {"Labels", std::map<std::string, std::string>{{"a", "v\n"}}},
  };
  for (const auto& [key, value] : cases) {
    const auto fault = refusal(key, value);
    EXPECT_EQ(fault.kind, FaultKind::invalid_args) << fault.message;
    EXPECT_THAT(fault.message, HasSubstr(key));
  }
}

TEST(DbusStartRequest, RefusesEachOverLongFieldByName) {
  using Labels = std::map<std::string, std::string>;
  Labels many;
  for (int i = 0; i < 33; ++i) many[std::to_string(i)] = "v";
  const std::vector<std::pair<std::string, sdbus::Variant>> cases = {
      {"Owner", std::string(257, 'x')},
      {"Token", std::string(257, 'x')},
      {"Description", std::string(257, 'x')},
      {"Labels", many},
      {"Labels", Labels{{std::string(65, 'k'), "v"}}},
      {"Labels", Labels{{"k", std::string(257, 'v')}}},
      {"WorkingDirectory", "/" + std::string(4095, 'x')},
      {"StandardOutput", "append:/" + std::string(4095, 'x')},
  };
  for (const auto& [key, value] : cases) {
    const auto fault = refusal(key, value);
    EXPECT_EQ(fault.kind, FaultKind::limit_exceeded) << fault.message;
    EXPECT_THAT(fault.message, HasSubstr(key));
  }
}

}  // namespace
}  // namespace corral::dbus
