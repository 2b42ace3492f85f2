#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "run/id.h"
#include "run_generators.h"

namespace corral::run {
namespace {

const std::string kInvocation = "0123456789abcdef0123456789abcdef";

TEST(RunId, TakesTheIdsThatEnginesMake) {
  for (const char* id :
       {"a", "7", "_x", ":x", "team_20261022110510_cefb9164af126460", "01HZX5YV8K6T7Q2W3E4R5T6Y7U",
        "6f1c2a34-5b6d-4e7f-8a9b-0c1d2e3f4a5b", "build:42.retry-1"}) {
    const auto parsed = RunId::parse(id);
    ASSERT_TRUE(parsed) << id;
    EXPECT_EQ(parsed->text(), id);
  }
}

TEST(RunId, HoldsUpTo128Bytes) {
  EXPECT_TRUE(RunId::parse(std::string(128, 'x')));
  EXPECT_FALSE(RunId::parse(std::string(129, 'x')));
  EXPECT_FALSE(RunId::parse(""));
}

TEST(RunId, RefusesWhatCouldLeaveItsDirectoryOrBeAnOption) {
  for (const char* id : {".", "..", ".hidden", "-rf", "a/b", "/", "../x", "a b", "a\nb",
                         "caf\u00e9", "a\\b", "a@b", "a%b"})
    EXPECT_FALSE(RunId::parse(id)) << id;
  EXPECT_FALSE(RunId::parse(std::string_view("a\0b", 3)));
}

TEST(RunId, TakesExactlyTheCharactersOfItsRule) {
  const std::string allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(RunId::parse(std::string("x") + c).has_value(), allowed.find(c) != std::string::npos)
        << byte;
  }
}

TEST(Invocation, IsThirtyTwoLowerCaseHexDigits) {
  EXPECT_EQ(Invocation::parse(kInvocation)->text(), kInvocation);
  EXPECT_FALSE(Invocation::parse(""));
  EXPECT_FALSE(Invocation::parse(kInvocation.substr(1)));
  EXPECT_FALSE(Invocation::parse(kInvocation + "0"));
  EXPECT_FALSE(Invocation::parse("0123456789ABCDEF0123456789ABCDEF"));
  EXPECT_FALSE(Invocation::parse("0123456789abcdeg0123456789abcdef"));
  EXPECT_FALSE(Invocation::parse("01234567-89ab-cdef-0123-456789ab"));
}

TEST(DirectoryName, IsTheIdADotAndTheInvocation) {
  EXPECT_EQ(directory_name(*RunId::parse("r42"), *Invocation::parse(kInvocation)),
            "r42." + kInvocation);
}

TEST(DirectoryName, RefusesWhatItDoesNotMake) {
  for (const std::string& name :
       {std::string(), kInvocation, "." + kInvocation, "r42" + kInvocation, "r42-" + kInvocation,
        "r42." + kInvocation + ".new", "..." + kInvocation, ".x." + kInvocation,
        "r42." + kInvocation.substr(1), std::string("init"), std::string(".control"),
        std::string(129, 'x') + "." + kInvocation})
    EXPECT_FALSE(parse_directory_name(name)) << name;
}

RC_GTEST_PROP(DirectoryName, NamesTheSameRunOnTheWayBack, ()) {
  const RunId id = any_run_id();
  const Invocation invocation = any_invocation();
  const auto parsed = parse_directory_name(directory_name(id, invocation));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->id == id);
  RC_ASSERT(parsed->invocation == invocation);
}

}  // namespace
}  // namespace corral::run
