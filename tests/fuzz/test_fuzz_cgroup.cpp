#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/parse.h"
#include "cgroup/environ.h"
#include "cgroup/group.h"
#include "cgroup/mount.h"
#include "cgroup/proc_stat.h"
#include "cgroup/sockets.h"
#include "fuzz.h"

namespace corral::cgroup {
namespace {

using fuzz::fuzz;
using fuzz::is_clean;

TEST(FuzzEvents, AreReadWhereThereIsAPopulatedLine) {
  fuzz({"populated 0\nfrozen 0\n", "populated 1\nfrozen 1\n", "populated 1\n"},
       [](std::string_view text) {
         const auto events = parse_events(text);
         EXPECT_EQ(events.has_value(), base::keyed(text, "populated").has_value());
         return events.has_value();
       });
}

// As the kernel writes a path in /proc/PID/mountinfo.
std::string octal(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    text += c == ' ' || c == '\t' || c == '\n' || c == '\\' ? fmt::format("\\{:03o}", byte)
                                                            : std::string(1, c);
  }
  return text;
}

TEST(FuzzMountinfo, ReadsTheSameMountAgain) {
  fuzz({"31 25 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "44 31 0:28 /../a /sys/fs/cgroup/unified rw shared:9 master:2 - cgroup2 none rw\n",
        "31 25 0:27 /with\\040space /m\\134nt rw - cgroup2 cgroup2 rw\n"},
       [](std::string_view text) {
         const auto mount = parse_mountinfo(text);
         if (!mount) return false;
         EXPECT_NE(text.find("cgroup2"), std::string_view::npos);
         const auto again = parse_mountinfo(fmt::format("31 25 0:27 {} {} rw - cgroup2 cgroup2 rw",
                                                        octal(mount->root), octal(mount->path)));
         EXPECT_TRUE(again && again->path == mount->path && again->root == mount->root)
             << mount->root << " at " << mount->path;
         return true;
       });
}

TEST(FuzzProcCgroup, TheLineOfVersionTwoIsAPath) {
  fuzz({"0::/\n", "12:pids:/a\n1:name=systemd:/b\n0::/user.slice/x.scope\n", "0::/x (deleted)\n"},
       [](std::string_view text) {
         const auto path = parse_proc_cgroup(text);
         if (!path) return false;
         EXPECT_TRUE(path->starts_with('/')) << *path;
         EXPECT_NE(text.find("0::" + *path), std::string_view::npos) << *path;
         return true;
       });
}

TEST(FuzzStat, ReadsTheSameProcessAgain) {
  fuzz(
      {"17 (sh) S 1 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4000 9000 300 18446744073709551615 "
       "1 2 3 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0\n",
       "18 (a) b) (c\n d) Z 17 17 17 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 4001 9000 0 1 1 2 3 0 0 "
       "0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0 1792\n"},
      [](std::string_view text) {
        const auto stat = parse_stat(text);
        if (!stat) return false;
        const auto again = parse_stat(fmt::format(
            "{} ({}) {} {} {} {} 0 -1 0 0 0 0 0 {} {} 0 0 20 0 1 0 {} 0 {} 0 0 0 0 0 0 0 0 "
            "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 {}\n",
            stat->pid, stat->comm, stat->state, stat->ppid, stat->pgrp, stat->session, stat->utime,
            stat->stime, stat->start_time, stat->rss_pages, stat->exit_code));
        EXPECT_TRUE(again && again->comm == stat->comm && again->state == stat->state &&
                    again->pid == stat->pid && again->session == stat->session &&
                    again->start_time == stat->start_time && again->rss_pages == stat->rss_pages &&
                    again->exit_code == stat->exit_code);
        return true;
      });
}

TEST(FuzzEnviron, PiecesSayWhatTheWholeSays) {
  const std::vector<std::string> sought = {"CORRAL_RUN_ID=a", "CORRAL_INVOCATION=0f"};
  const std::string whole = sought[0] + '\0' + "PATH=/bin" + '\0' + sought[1] + '\0';
  fuzz({whole, sought[1] + '\0' + sought[0]}, [&](std::string_view text) {
    const auto entries = base::split(text, '\0');
    const auto has = [&](const std::string& one) {
      return std::find(entries.begin(), entries.end(), one) != entries.end();
    };
    const bool expected = has(sought[0]) && has(sought[1]);
    for (const size_t piece : {size_t{1}, size_t{7}, text.size() + 1}) {
      EnvironSearch search(sought);
      for (size_t at = 0; at < text.size(); at += piece) search.feed(text.substr(at, piece));
      search.end();
      EXPECT_EQ(search.found(), expected) << piece;
    }
    return expected;
  });
}

void expect_names(const SocketNames& names, const std::string& head) {
  for (const auto& [inode, name] : names) {
    EXPECT_NE(inode, 0U);
    EXPECT_TRUE(name.starts_with(head)) << name;
    EXPECT_TRUE(is_clean(name)) << name;
  }
}

constexpr const char* kTail =
    " 00000000:00000000 00:00000000 00000000     0        0 1523 1 00000000a6350b5a 100 0 0 10 0\n";

TEST(FuzzInet, NamesAreCleanAndOfTheirProtocol) {
  fuzz({std::string("   0: 0100007F:1435 00000000:0000 0A") + kTail,
        "   1: 00000000000000000000000001000000:1F90 " + std::string(32, '0') + ":0000 0A" + kTail},
       [](std::string_view text) {
         SocketNames tcp;
         parse_inet(text, "tcp", tcp);
         expect_names(tcp, "tcp:");
         SocketNames udp;
         parse_inet(text, "udp", udp);
         expect_names(udp, "udp:");
         return !tcp.empty();
       });
}

TEST(FuzzUnix, NamesAreCleanWhateverThePathHolds) {
  fuzz({"000000005cce3d5c: 00000002 00000000 00010000 0001 01  1520 /run/x\n",
        "000000005cce3d5d: 00000002 00000000 00010000 0005 01 31520 @a b\xff\\\x1b\n"},
       [](std::string_view text) {
         SocketNames names;
         parse_unix(text, names);
         expect_names(names, "unix:");
         return !names.empty();
       });
}

}  // namespace
}  // namespace corral::cgroup
