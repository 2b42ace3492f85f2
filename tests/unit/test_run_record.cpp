#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run/record.h"
#include "run/spec.h"
#include "run_generators.h"

namespace corral::run {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kMembers =
    R"({"driver":{"pid":17,"start":4000},"supervisor":{"pid":16,"start":3999}})";
constexpr const char* kExit = R"({"exit":"killed","status":9,"realtime":5000,"monotonic":70})";

Record good_record() {
  Record record{.id = *RunId::parse("r42"),
                .invocation = *Invocation::parse("0123456789abcdef0123456789abcdef"),
                .owner = "engine",
                .owner_uid = 1000,
                .token = "t",
                .description = "nightly",
                .labels = {{"team", "a"}},
                .policy = {},
                .boot_id = "f0f0",
                .cgroup_id = 77,
                .start = {5000, 70},
                .containment = Containment::enforced};
  return record;
}

// What `parse` says to the JSON `whole` with the JSON `value` at `key`.
template <typename T>
std::string said_of(Result<T> (*parse)(std::string_view), const std::string& whole,
                    const std::string& key, const std::string& value) {
  json object = json::parse(whole);
  object[key] = json::parse(value);
  const auto parsed = parse(object.dump());
  return parsed ? "good" : parsed.error().message;
}

std::string said_of_record(const std::string& key, const std::string& value) {
  return said_of(parse_record, to_json(good_record()), key, value);
}

RC_GTEST_PROP(RecordJson, IsTheSameRecordOnTheWayBack, ()) {
  const Record record = any_record();
  const auto parsed = parse_record(to_json(record));
  if (!parsed) RC_FAIL(parsed.error().message);
  RC_ASSERT(*parsed == record);
}

RC_GTEST_PROP(EndingJson, IsTheSameEndingOnTheWayBack, ()) {
  const Ending ending = any_ending();
  const auto parsed = parse_ending(to_json(ending));
  if (!parsed) RC_FAIL(parsed.error().message);
  RC_ASSERT(*parsed == ending);
}

RC_GTEST_PROP(RecordJson, IsWrittenWhateverBytesTheLabelsHold, ()) {
  Record record = good_record();
  record.labels = {{any_bytes(), any_bytes()}};
  record.description = any_bytes();
  const auto parsed = parse_record(to_json(record));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->labels.size() == 1);
}

TEST(RecordJson, FitsOneExtendedAttributeWithEveryFieldAtItsBound) {
  Record record = good_record();
  record.id = *RunId::parse(std::string(128, 'x'));
  record.owner = std::string(kOwnerBytes, '"');
  record.token = std::string(kTokenBytes, '"');
  record.description = std::string(kDescriptionBytes, '"');
  record.labels.clear();
  for (size_t i = 0; i < kLabels; ++i)
    record.labels[std::string(kLabelKeyBytes - 2, '"') + std::to_string(10 + i)] =
        std::string(kLabelValueBytes, '\\');
  EXPECT_LE(to_json(record).size(), 65'536U);
}

TEST(RecordJson, SaysWhatIsWrongAndWhere) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"version", "2", "2, and this program reads 1 only"},
      {"id", R"("a b")",
       R"("a b": no run id (1 to 128 of A-Z a-z 0-9 _ . : -, the first no - or .))"},
      {"invocation", R"("beef")", R"("beef": no invocation (32 lower-case hex digits))"},
      {"containment", R"("Enforced")", R"("Enforced": unknown word)"},
      {"owner_uid", "4294967296", "not a number from 0 to 4294967295"},
      {"cgroup_id", "-1", "not a number from 0 to 18446744073709551615"},
      {"cgroup_id", "1.5", "not a number from 0 to 18446744073709551615"},
      {"cgroup_id", "18446744073709551616", "not a number from 0 to 18446744073709551615"},
      {"grace_usec", "9223372036854775808", "not a number from 0 to 9223372036854775807"},
      {"owner", "null", "not a string"},
      {"labels", R"(["team"])", "not an object"},
      {"labels", R"({"team":1})", R"(the value of "team" is not a string)"},
      {"term_signal", "65", "not a signal"},
      {"term_signal", "0", "not a signal"}};
  for (const auto& [key, value, said] : cases)
    EXPECT_EQ(said_of_record(key, value), "record: " + key + ": " + said);
}

TEST(RecordJson, SaysAWrongValueEscapedAndCut) {
  const std::string said = said_of_record("id", R"("\u001b[2J)" + std::string(1'000, 'x') + '"');
  EXPECT_THAT(said, StartsWith("record: id: \"\\x1b[2Jxxx"));
  EXPECT_LT(said.size(), 300U);
}

TEST(RecordJson, PassesOverKeysOfALaterTime) {
  EXPECT_EQ(said_of_record("colour", R"("blue")"), "good");
}

TEST(MembersJson, AreReadAsTheSupervisorWritesThem) {
  const auto members = parse_members(kMembers);
  ASSERT_TRUE(members);
  EXPECT_EQ(*members, (Members{{17, 4000}, {16, 3999}}));
}

TEST(MembersJson, SayWhatIsWrongAndWhere) {
  EXPECT_EQ(said_of(parse_members, kMembers, "driver", "17"), "members: driver: not an object");
  EXPECT_EQ(said_of(parse_members, kMembers, "supervisor", R"({"pid":16})"),
            "members: supervisor.start: missing");
  EXPECT_EQ(said_of(parse_members, kMembers, "driver", R"({"pid":-1,"start":1})"),
            "members: driver.pid: not a number from 0 to 4294967295");
}

TEST(ExitJson, IsReadAsTheSupervisorWritesIt) {
  const auto exit = parse_exit(kExit);
  ASSERT_TRUE(exit);
  EXPECT_EQ(*exit, (Exit{DriverExit::killed, 9, {5000, 70}}));
}

TEST(ExitJson, RefusesWhatNoDriverCanHaveDone) {
  const std::vector<std::array<std::string, 3>> cases = {
      {"exit", R"("")", "neither exited nor killed nor dumped"},
      {"exit", R"("unknown")", "neither exited nor killed nor dumped"},
      {"exit", R"("vanished")", R"("vanished": unknown word)"},
      {"status", "256", "neither an exit code nor a signal"},
      {"status", "-1", "neither an exit code nor a signal"}};
  for (const auto& [key, value, said] : cases)
    EXPECT_EQ(said_of(parse_exit, kExit, key, value), "exit: " + key + ": " + said);
}

struct Form {
  const char* name;
  std::string good;
  std::function<std::string(std::string_view)> said;  // "" for good text
};

template <typename T>
Form form(const char* name, std::string good, Result<T> (*parse)(std::string_view)) {
  return {name, std::move(good), [parse](std::string_view text) {
            const auto parsed = parse(text);
            return parsed ? std::string() : parsed.error().message;
          }};
}

std::vector<Form> forms() {
  const Record record = good_record();
  const Ending ending{
      EndReason::requested, "close-out", "uid 0, pid 17", true, true, true, {1, 2}, 3, 4};
  return {form("record", to_json(record), parse_record), form("members", kMembers, parse_members),
          form("exit", kExit, parse_exit), form("ending", to_json(ending), parse_ending)};
}

TEST(EveryRecord, IsRefusedWhereverItIsTorn) {
  for (const Form& form : forms()) {
    ASSERT_EQ(form.said(form.good), "") << form.good;
    for (size_t length = 0; length < form.good.size(); ++length)
      ASSERT_THAT(form.said(form.good.substr(0, length)), StartsWith(form.name)) << length;
  }
}

TEST(EveryRecord, MissesEachOfItsFields) {
  for (const Form& form : forms()) {
    const json whole = json::parse(form.good);
    for (const auto& field : whole.items()) {
      json object = whole;
      object.erase(field.key());
      EXPECT_EQ(form.said(object.dump()),
                std::string(form.name) + ": " + field.key() + ": missing");
    }
  }
}

TEST(EveryRecord, RefusesGarbageWithItsNameAndThePlace) {
  for (const Form& form : forms()) {
    for (const std::string& text :
         {std::string(), std::string("\0", 1), std::string("\xff\xfe"), std::string("1e999"),
          std::string(5'000, '['), form.good + "x", form.good + form.good})
      EXPECT_THAT(form.said(text), StartsWith(std::string(form.name) + ": not JSON")) << text;
    for (const char* text : {"null", "[]", "7", "\"text\""})
      EXPECT_EQ(form.said(text), std::string(form.name) + ": not a JSON object");
  }
  EXPECT_THAT(parse_exit("{\"exit\":x}").error().message, HasSubstr("at byte 9 of 10"));
}

}  // namespace
}  // namespace corral::run
