#include <gmock/gmock.h>

#include "dbus/authority.h"

namespace corral::dbus {
namespace {

using run::FaultKind;

constexpr uint32_t kOwner = 1000;
constexpr uint32_t kStranger = 1001;

Request request(Act act, uint32_t caller, Position position = Position::outside,
                bool system_bus = false) {
  return {act, caller, kOwner, system_bus, position, "r1"};
}

std::optional<FaultKind> kind_of(const Request& asked) {
  const auto fault = refuse(asked);
  if (!fault) return std::nullopt;
  EXPECT_THAT(fault->message, testing::HasSubstr("r1"));
  return fault->kind;
}

constexpr Act kActs[] = {Act::see, Act::signal, Act::end};

TEST(DbusAuthority, RootAndTheOwnerMayDoEverythingFromOutside) {
  for (const Act act : kActs) {
    EXPECT_EQ(kind_of(request(act, 0)), std::nullopt);
    EXPECT_EQ(kind_of(request(act, kOwner)), std::nullopt);
  }
}

TEST(DbusAuthority, AnotherUidMayDoNothing) {
  for (const Act act : kActs) {
    EXPECT_EQ(kind_of(request(act, kStranger)), FaultKind::access_denied);
    EXPECT_EQ(kind_of(request(act, UINT32_MAX)), FaultKind::access_denied);
  }
}

TEST(DbusAuthority, OnTheSystemBusOnlyRootActs) {
  EXPECT_EQ(kind_of(request(Act::see, kOwner, Position::outside, true)), std::nullopt);
  EXPECT_EQ(kind_of(request(Act::signal, kOwner, Position::outside, true)),
            FaultKind::access_denied);
  EXPECT_EQ(kind_of(request(Act::end, kOwner, Position::outside, true)), FaultKind::access_denied);
  EXPECT_EQ(kind_of(request(Act::end, 0, Position::outside, true)), std::nullopt);
}

TEST(DbusAuthority, ACallerInsideAnotherRunMaySeeButNotAct) {
  EXPECT_EQ(kind_of(request(Act::see, 0, Position::inside_other)), std::nullopt);
  EXPECT_EQ(kind_of(request(Act::signal, 0, Position::inside_other)), FaultKind::not_owner);
  EXPECT_EQ(kind_of(request(Act::end, 0, Position::inside_other)), FaultKind::not_owner);
}

TEST(DbusAuthority, ACallerInsideTheRunMayActOnItsProcessesButNeverEndItself) {
  EXPECT_EQ(kind_of(request(Act::signal, kOwner, Position::inside_this)), std::nullopt);
  EXPECT_EQ(kind_of(request(Act::end, kOwner, Position::inside_this)),
            FaultKind::would_kill_caller);
  EXPECT_EQ(kind_of(request(Act::end, 0, Position::inside_this)), FaultKind::would_kill_caller);
}

TEST(DbusAuthority, ACallerInsideARunMayActOnThoseNestedInItAndEndNoneThatItSitsIn) {
  for (const Act act : kActs)
    EXPECT_EQ(kind_of(request(act, kOwner, Position::above)), std::nullopt);
  EXPECT_EQ(kind_of(request(Act::signal, 0, Position::inside_nested)), FaultKind::not_owner);
  EXPECT_EQ(kind_of(request(Act::end, 0, Position::inside_nested)), FaultKind::would_kill_caller);
}

TEST(DbusAuthority, ACallerWhosePlaceIsUnknownMayNotAct) {
  EXPECT_EQ(kind_of(request(Act::see, 0, Position::unknown)), std::nullopt);
  EXPECT_EQ(kind_of(request(Act::signal, 0, Position::unknown)), FaultKind::access_denied);
  EXPECT_EQ(kind_of(request(Act::end, 0, Position::unknown)), FaultKind::access_denied);
}

TEST(DbusAuthority, TheUidIsJudgedBeforeThePlace) {
  EXPECT_EQ(kind_of(request(Act::end, kStranger, Position::inside_this)), FaultKind::access_denied);
}

}  // namespace
}  // namespace corral::dbus
