#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "cgroup/mount.h"

namespace corral::cgroup {
namespace {

constexpr const char* kHybrid =
    "24 30 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n"
    "31 24 0:27 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:28 / /sys/fs/cgroup/unified rw,relatime shared:10 - cgroup2 cgroup2 rw,nsdelegate\n"
    "33 31 0:29 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,name=systemd\n";

TEST(Mountinfo, AHybridLayoutHasItsCgroup2) {
  const auto mount = parse_mountinfo(kHybrid);
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->path, "/sys/fs/cgroup/unified");
  EXPECT_EQ(mount->root, "/");
}

TEST(Mountinfo, OptionalFieldsMayBeNoneOrMany) {
  for (const char* optional : {"", "shared:1 ", "shared:1 master:2 propagate_from:3 "}) {
    const auto mount = parse_mountinfo("1 2 0:3 /a.slice /mnt rw " + std::string(optional) +
                                       "- cgroup2 none rw\n");
    ASSERT_TRUE(mount) << optional;
    EXPECT_EQ(mount->path, "/mnt");
    EXPECT_EQ(mount->root, "/a.slice");
  }
}

TEST(Mountinfo, TheFirstOfSeveralIsTakenOrTheOneOfTheId) {
  const std::string text =
      "41 1 0:3 / /first rw - cgroup2 none rw\n42 1 0:3 /x /second rw - cgroup2 none rw\n"
      "43 1 0:4 / /third rw - tmpfs none rw\n";
  EXPECT_EQ(parse_mountinfo(text).value().path, "/first");
  EXPECT_EQ(parse_mountinfo(text, 42).value().path, "/second");
  EXPECT_FALSE(parse_mountinfo(text, 43)) << "is no cgroup2";
  EXPECT_FALSE(parse_mountinfo(text, 4));
}

TEST(Mountinfo, OctalEscapesAreUndone) {
  const auto mount =
      parse_mountinfo("1 2 0:3 /a\\134b /mnt\\040x\\011y\\012z\\0409\\04 rw - cgroup2 none rw\n");
  ASSERT_TRUE(mount);
  EXPECT_EQ(mount->path, "/mnt x\ty\nz 9\\04");
  EXPECT_EQ(mount->root, "/a\\b");
}

TEST(Mountinfo, WhatOnlyLooksLikeOneIsPassedOver) {
  for (const char* text :
       {"", "\n", "- cgroup2 none rw", "1 2 0:3 / - cgroup2 x rw",
        "x 2 0:3 / /mnt rw - cgroup2 none rw", "1 2 0:3 / /mnt rw cgroup2 none rw",
        "1 2 0:3 / /cgroup2 rw - cgroup cgroup2 rw", "1 2 0:3 / /mnt rw -"})
    EXPECT_FALSE(parse_mountinfo(text)) << text;
}

RC_GTEST_PROP(Mountinfo, AnyTextIsReadWithoutHarm, (const std::string& text)) {
  (void)parse_mountinfo(text);
  (void)parse_mountinfo("1 2 0:3 / " + text + " rw - cgroup2 none rw");
  (void)parse_proc_cgroup(text);
}

TEST(ProcCgroup, TheUnifiedLineIsFoundAmongTheOthers) {
  EXPECT_EQ(parse_proc_cgroup("9:name=systemd:/x\n4:memory:/y\n0::/user.slice/a b\n"),
            "/user.slice/a b");
  EXPECT_EQ(parse_proc_cgroup("0::/\n"), "/");
}

TEST(ProcCgroup, ADeletedGroupKeepsItsPath) {
  EXPECT_EQ(parse_proc_cgroup("0::/a/b (deleted)\n"), "/a/b");
}

TEST(ProcCgroup, ColonsBelongToThePath) {
  EXPECT_EQ(parse_proc_cgroup("0::/a:b::c\n"), "/a:b::c");
}

TEST(ProcCgroup, TextWithoutAUnifiedLineHasNone) {
  for (const char* text :
       {"", "\n", "4:memory:/y\n", "0:name=x:/a\n", "10::/a\n", "0::\n", "0::a\n"})
    EXPECT_FALSE(parse_proc_cgroup(text)) << text;
}

}  // namespace
}  // namespace corral::cgroup
