#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "cgroup/proc_stat.h"

namespace corral::cgroup {
namespace {

// A line as the kernel writes it, about a process of that name.
std::string line(const std::string& comm, const std::string& state = "S") {
  return "4711 (" + comm + ") " + state +
         " 4700 4701 4702 34816 4711 4194304 99 7 1 2 310 45 8 9 20 0 3 0 122846 3133440 386 "
         "18446744073709551615 94510197739520 94510197759401 140733435130208 0 0 0 0 0 0 0 0 0 17 "
         "1 0 0 0 0 0 94510197775408 94510197777024 94510774800384 140733435132556 "
         "140733435132576 140733435132576 140733435133931 1792\n";
}

TEST(ProcStat, APlainLineIsRead) {
  const auto stat = parse_stat(line("sleep"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 4711);
  EXPECT_EQ(stat->comm, "sleep");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->ppid, 4700);
  EXPECT_EQ(stat->pgrp, 4701);
  EXPECT_EQ(stat->session, 4702);
  EXPECT_EQ(stat->utime, 310U);
  EXPECT_EQ(stat->stime, 45U);
  EXPECT_EQ(stat->start_time, 122846U);
  EXPECT_EQ(stat->rss_pages, 386U);
  EXPECT_EQ(stat->exit_code, 7 << 8);
}

TEST(ProcStat, ACommThatLooksLikeTheRestOfTheLineIsTakenWhole) {
  for (const char* comm :
       {"", " ", ")", "a b", "x) R 1 2 3 4", ") (", "\xff\xfe", "two\nlines", "("})
    EXPECT_EQ(parse_stat(line(comm)).value_or(ProcStat{}).comm, comm);
}

TEST(ProcStat, TheStateOfAnExitedLeaderIsRead) {
  EXPECT_EQ(parse_stat(line("gone", "Z")).value_or(ProcStat{}).state, 'Z');
}

TEST(ProcStat, WhatIsNotAWholeLineIsRefused) {
  const std::string whole = line("sleep");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_stat(whole.substr(0, size))) << size;
  }
}

TEST(ProcStat, GarbageIsRefused) {
  for (const char* text : {"\n", "()\n", " () \n", ") (\n", "1 (a) S\n", "(a) S 1 2 3\n"})
    EXPECT_FALSE(parse_stat(text)) << text;
  std::string wrong = line("sleep");
  wrong.replace(wrong.find("122846"), 6, "-12846");
  EXPECT_FALSE(parse_stat(wrong));
  EXPECT_FALSE(parse_stat(line("sleep", "SS")));
  EXPECT_FALSE(parse_stat("99999999999999999999" + line("sleep").substr(4)));
}

TEST(ProcStat, TheCallersOwnIsRead) {
  const auto stat = read_stat(getpid());
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, getpid());
  EXPECT_EQ(stat->ppid, getppid());
  EXPECT_EQ(stat->session, getsid(0));
  EXPECT_GT(stat->start_time, 0U);
  EXPECT_GT(stat->rss_pages, 0U);
  EXPECT_EQ(living_thread(*stat), getpid());
}

TEST(ProcStat, AProcessThatIsNotThereHasNone) {
  EXPECT_FALSE(read_stat(0));
  EXPECT_FALSE(read_stat(-1));
  EXPECT_FALSE(living_thread(ProcStat{.pid = -1, .comm = "", .state = 'Z'}));
}

}  // namespace
}  // namespace corral::cgroup
