#include <fcntl.h>
#include <gmock/gmock.h>
#include <sdbus-c++/Types.h>
#include <sys/stat.h>

#include "dbus/options.h"

namespace corral::dbus {
namespace {

using run::FaultKind;
using std::chrono::microseconds;
using testing::HasSubstr;
using testing::Optional;

std::string message_of(Options& options) {
  const auto fault = options.finish();
  return fault ? fault->message : "";
}

TEST(DbusOptions, AKeyThatIsNotThereIsNotAFault) {
  Options options("StartRun", {});
  EXPECT_EQ(options.text("Owner", 10), std::nullopt);
  EXPECT_EQ(options.finish(), std::nullopt);
}

TEST(DbusOptions, AKeyThatNobodyAskedForIsRefusedByName) {
  Options options("StartRun", {{"Foo", std::string("x")}, {"Owner", std::string("me")}});
  EXPECT_THAT(options.text("Owner", 10), Optional(std::string("me")));
  const auto fault = options.finish();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::invalid_args);
  EXPECT_EQ(fault->message, "StartRun: unknown option \"Foo\"");
}

TEST(DbusOptions, AWrongTypeNamesTheKeyWhatCameAndWhatWasExpected) {
  Options options("StartRun", {{"Owner", uint32_t{7}}});
  EXPECT_EQ(options.text("Owner", 10), std::nullopt);
  EXPECT_EQ(message_of(options), "StartRun: Owner is of type u, expected s");
}

TEST(DbusOptions, TheFirstFaultIsTheOneThatIsTold) {
  Options options("StartRun", {{"A", uint32_t{7}}, {"B", uint32_t{7}}});
  (void)options.text("B", 10);
  (void)options.text("A", 10);
  EXPECT_THAT(message_of(options), HasSubstr("B is of type u"));
}

TEST(DbusOptions, EveryIntegerTypeIsANumber) {
  const Dict values = {{"y", uint8_t{7}},  {"n", int16_t{7}}, {"q", uint16_t{7}}, {"i", int32_t{7}},
                       {"u", uint32_t{7}}, {"x", int64_t{7}}, {"t", uint64_t{7}}};
  Options options("StartRun", values);
  for (const auto& [key, value] : values) {
    EXPECT_THAT(options.integer(key.c_str(), 0, 10), Optional(int64_t{7})) << key;
  }
  EXPECT_EQ(options.finish(), std::nullopt);
}

TEST(DbusOptions, ANumberOutsideItsRangeNamesTheRange) {
  for (const sdbus::Variant& value :
       {sdbus::Variant(int64_t{-1}), sdbus::Variant(int32_t{11}), sdbus::Variant(UINT64_MAX)}) {
    Options options("StartRun", {{"N", value}});
    EXPECT_EQ(options.integer("N", 0, 10), std::nullopt);
    EXPECT_EQ(message_of(options), "StartRun: N must be 0 to 10");
  }
}

TEST(DbusOptions, TextAndBooleansAndDoublesAreNoNumbers) {
  for (const sdbus::Variant& value :
       {sdbus::Variant("7"), sdbus::Variant(true), sdbus::Variant(7.0)}) {
    Options options("StartRun", {{"N", value}});
    EXPECT_EQ(options.duration("N", microseconds{10}), std::nullopt);
    EXPECT_THAT(message_of(options), HasSubstr("expected an integer"));
  }
}

TEST(DbusOptions, TextPastItsLimitIsLimitExceededAndNamesBoth) {
  Options options("StartRun", {{"Owner", std::string(11, 'x')}});
  EXPECT_EQ(options.text("Owner", 10), std::nullopt);
  const auto fault = options.finish();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->kind, FaultKind::limit_exceeded);
  EXPECT_EQ(fault->message, "StartRun: Owner has 11 bytes, at most 10 are allowed");
}

TEST(DbusOptions, AnFdIsDuplicatedCloseOnExec) {
  const UniqueFd null{open("/dev/null", O_RDWR | O_CLOEXEC)};
  Options options("StartRun", {{"In", sdbus::UnixFd(null.get())}});
  auto value = options.text_or_fd("In");
  ASSERT_TRUE(value);
  const auto& fd = std::get<UniqueFd>(*value);
  EXPECT_NE(fd.get(), null.get());
  EXPECT_EQ(fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  struct stat status {};
  ASSERT_EQ(fstat(fd.get(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode));
}

TEST(DbusOptions, WhatACallerSentIsQuotedEscapedAndCut) {
  EXPECT_EQ(dbus::quoted("a\nb"), "\"a\\x0ab\"");
  EXPECT_EQ(dbus::quoted(std::string(100, 'x')), "\"" + std::string(64, 'x') + "...\"");
}

}  // namespace
}  // namespace corral::dbus
