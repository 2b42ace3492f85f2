#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "cgroup/group.h"
#include "cgroup/walk.h"

namespace corral::cgroup {
namespace {

TEST(CgroupEvents, BothLinesAreRead) {
  const auto events = parse_events("populated 1\nfrozen 0\n");
  ASSERT_TRUE(events);
  EXPECT_TRUE(events->populated);
  EXPECT_FALSE(events->frozen);
}

TEST(CgroupEvents, OrderAndUnknownLinesDoNotMatter) {
  const auto events = parse_events("pressure 3\nfrozen 1\npopulated 0\n");
  ASSERT_TRUE(events);
  EXPECT_FALSE(events->populated);
  EXPECT_TRUE(events->frozen);
}

TEST(CgroupEvents, KernelsWithoutTheFreezerAreNotFrozen) {
  const auto events = parse_events("populated 1\n");
  ASSERT_TRUE(events);
  EXPECT_FALSE(events->frozen);
}

TEST(CgroupEvents, TextWithoutAPopulatedLineIsNeverTakenForEmpty) {
  for (const char* text : {"", "\n", "frozen 0\n", "populated\n", "populated x\n", "populated -1\n",
                           "unpopulated 0\n", "populated 0 0\n", "populated\t0\n"})
    EXPECT_FALSE(parse_events(text)) << text;
}

TEST(CgroupProcs, TheKernelsOrderIsKept) {
  EXPECT_THAT(parse_pids("7\n3\n4194304\n").value(), testing::ElementsAre(7, 3, 4194304));
  EXPECT_THAT(parse_pids("").value(), testing::IsEmpty());
}

TEST(CgroupProcs, ProcessesOfAnotherPidNamespaceAreLeftOut) {
  EXPECT_THAT(parse_pids("0\n7\n0\n").value(), testing::ElementsAre(7));
}

TEST(CgroupProcs, WhatIsNoListOfPidsIsAnError) {
  for (const char* text : {"7\nx\n", "-1\n", "7 8\n", "99999999999\n", " 7\n", "7\r\n", "+7\n"})
    EXPECT_FALSE(parse_pids(text)) << text;
}

TEST(CgroupGone, OnlyTheKernelsTwoWordsForItAreTakenForIt) {
  EXPECT_TRUE(is_gone(failed(ENOENT, "read")));
  EXPECT_TRUE(is_gone(failed(ENODEV, "read")));
  EXPECT_FALSE(is_gone(failed(EACCES, "read")));
  EXPECT_FALSE(is_gone(Error{}));
}

}  // namespace
}  // namespace corral::cgroup
