#include <grp.h>
#include <sched.h>
#include <sys/mount.h>

#include "kinship_test.h"

namespace corral::cgroup {
namespace {

using EscapesTest = KinshipTest;
using Found = std::map<pid_t, std::string>;

constexpr uid_t kOther = 61234;  // of nobody else on this machine

TEST_F(EscapesTest, NobodyWhoStayedIsFound) {
  start([&] {
    if (fork() == 0) pids().tell();
    return linger();
  });
  (void)pids().next();
  EXPECT_EQ(escaped(ties()), Found{});
}

TEST_F(EscapesTest, AChildAndAGrandchildThatWereMovedOutAreFoundByParentage) {
  start([&] {
    if (fork() == 0) {
      if (!move_to(at("outside")) || setsid() < 0) return 1;
      (void)fork();
      pids().tell();
    }
    return linger();
  });
  const pid_t one = pids().next(), other = pids().next();
  EXPECT_EQ(escaped(ties()), (Found{{one, "parent"}, {other, "parent"}}));
  EXPECT_EQ(escaped(ties(false)), (Found{{one, "parent"}, {other, "parent"}}));
}

TEST_F(EscapesTest, ARowSaysWhereItSitsAndWhatItIs) {
  start([&] {
    if (fork() == 0) {
      if (!move_to(at("outside"))) return 1;
      return execute_with(pids(), {});
    }
    return linger();
  });
  const pid_t child = pids().next();
  Kinship kinship = pass();
  EscapeSearch search(kinship, ties(), {});
  while (!search.step(1)) continue;
  const auto found = search.take();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].pid, static_cast<uint32_t>(child));
  EXPECT_EQ(found[0].start_time, start_time(child));
  EXPECT_EQ(found[0].control_group, must(path_of(at("outside"))));
  EXPECT_EQ(found[0].outcome, run::Outcome::escaped);
  EXPECT_EQ(found[0].comm, "sh");
  EXPECT_EQ(found[0].argv.at(1), "-c");
  EXPECT_EQ(found[0].uid, 0U);
  EXPECT_TRUE(search.take().empty()) << "taken once";
}

// setsid, double fork, nothing in the environment: the subreaper knows it all the same.
TEST_F(EscapesTest, AnOrphanOutsideIsASubreapersChild) {
  start([&] {
    if (fork() == 0) {
      if (setsid() < 0 || !move_to(at("outside"))) return 1;
      return fork() == 0 ? execute_with(pids(), {}) : 0;
    }
    return linger();
  });
  const pid_t orphan = pids().next();
  ASSERT_TRUE(eventually([&] { return read_ppid(orphan) == supervisor().pid(); }));
  EXPECT_EQ(escaped(ties()), (Found{{orphan, "parent"}}));
  EXPECT_EQ(escaped(ties(false)), Found{}) << "its parent may have other children";
}

TEST_F(EscapesTest, ADriverThatMovedItselfOutIsFound) {
  start([&] {
    if (!move_to(at("outside"))) return 1;
    pids().tell();
    return linger();
  });
  EXPECT_EQ(pids().next(), driver());
  EXPECT_EQ(escaped(ties()), (Found{{driver(), "parent"}}));
}

TEST_F(EscapesTest, AChildByCloneParentIsTheSupervisors) {
  start([&] {
    if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) {
      if (!move_to(at("outside"))) return 1;
      pids().tell();
    }
    return linger();
  });
  EXPECT_EQ(escaped(ties()), (Found{{pids().next(), "parent"}}));
}

TEST_F(EscapesTest, AnAttachedRunsSupervisorAndItsSparedChildrenAreNotFound) {
  start(linger, true, "outside");
  const pid_t other = start_outside({});
  Ties known = ties();
  EXPECT_EQ(escaped(known), Found{});
  known.supervisor = name_of(getpid());  // whose children the other two are
  EXPECT_EQ(escaped(known), (Found{{other, "parent"}, {supervisor().pid(), "parent"}}));
  known.spared = {supervisor().pid()};
  EXPECT_EQ(escaped(known), (Found{{other, "parent"}}));
  known.adopts = false;
  EXPECT_EQ(escaped(known), Found{}) << "an opener's other children are not of the run";
}

TEST_F(EscapesTest, WhatDescendsFromASparedProcessIsNotTheRuns) {
  start([&] {
    if (fork() == 0) {
      if (!move_to(at("outside"))) return 1;
      pids().tell();
      if (fork() == 0) pids().tell();
    }
    return linger();
  });
  Ties known = ties();
  const pid_t one = pids().next(), other = pids().next();
  known.spared = {one};
  EXPECT_EQ(escaped(known), Found{}) << other;
}

// The driver of a nested run is a descendant of a member; who left it left the nested run.
TEST_F(EscapesTest, ANestedRunTellsItsOwn) {
  add("inner", "nested", "b.00000000000000000000000000000000");
  add("inner work", "inner", "work");
  start([&] {
    if (!clone_into(at("inner work"), [&] {
          pids().tell();
          if (fork() == 0) {
            if (!move_to(at("outside"))) return 1;
            pids().tell();
          }
          return linger();
        }))
      return 1;
    return linger();
  });
  const pid_t inner = pids().next(), left = pids().next();
  EXPECT_EQ(escaped(ties()), Found{});
  Ties nested = ties();
  nested.directory = must(path_of(at("inner")));
  nested.supervisor = nested.driver;
  nested.driver = name_of(inner);
  EXPECT_EQ(escaped(nested), (Found{{left, "parent"}}));
}

TEST_F(EscapesTest, OneOfNoKinIsFoundByItsEnvironment) {
  start(
      [&] {
        if (fork() == 0) {
          if (setsid() < 0 || !move_to(at("outside"))) return 1;
          return fork() == 0 ? execute_with(pids(), variables()) : 0;
        }
        return linger();
      },
      false);
  const pid_t orphan = pids().next();
  ASSERT_TRUE(eventually([&] { return read_ppid(orphan) == getpid(); }));
  EXPECT_EQ(escaped(ties(false)), (Found{{orphan, "environment"}}));
}

TEST_F(EscapesTest, OneOfNoKinWithoutTheVariablesIsNotFound) {
  start(linger, false);
  (void)start_outside({});
  EXPECT_EQ(escaped(ties(false)), Found{});
}

TEST_F(EscapesTest, AnotherUidsProcessIsNotFoundByItsEnvironment) {
  start(linger);
  const pid_t other = start_outside(variables(), kOther);
  EXPECT_EQ(escaped(ties()), Found{});
  Ties theirs = ties();
  theirs.uid = kOther;
  EXPECT_EQ(escaped(theirs), (Found{{other, "environment"}}));
}

TEST_F(EscapesTest, ASparedProcessIsNotFoundByItsEnvironment) {
  start(linger);
  Ties known = ties();
  known.spared = {start_outside(variables())};
  EXPECT_EQ(escaped(known), Found{});
}

TEST_F(EscapesTest, VariablesThatOnlyLookAlikeAreNotTheRuns) {
  start(linger);
  const std::string id = variables()[0], invocation = variables()[1];
  for (const std::vector<std::string>& alike :
       std::vector<std::vector<std::string>>{{id},
                                             {invocation},
                                             {id, invocation + "0"},
                                             {id + "b", invocation},
                                             {id, "X" + invocation},
                                             {"X=" + id, "Y=" + invocation},
                                             {"X=a " + id + " " + invocation + " b"},
                                             {id, invocation.substr(0, invocation.size() - 1)},
                                             {id, "CORRAL_INVOCATION="},
                                             {"CORRAL_RUN_ID=A", invocation}})
    (void)start_outside(alike);
  EXPECT_EQ(escaped(ties()), Found{});
}

TEST_F(EscapesTest, AHugeEnvironmentIsReadToItsEnd) {
  start(linger);
  std::vector<std::string> huge;
  for (int i = 0; i < 40; ++i)
    huge.push_back("PAD" + std::to_string(i) + "=" + std::string(9'973, 'x'));
  for (const std::string& variable : variables()) huge.push_back(variable);
  EXPECT_EQ(escaped(ties()), Found{});
  const pid_t found = start_outside(huge);
  EXPECT_EQ(escaped(ties()), (Found{{found, "environment"}}));
}

TEST_F(EscapesTest, OneThatWentSinceThePassIsLeftOut) {
  start([&] {
    if (fork() == 0) {
      if (!move_to(at("outside"))) return 1;
      pids().tell();
    }
    return linger();
  });
  const Pidfd child = must(Pidfd::open(pids().next()));
  Kinship kinship = pass();
  must(child.signal(SIGKILL));
  ASSERT_TRUE(eventually([&] { return child.exited(); }));
  EscapeSearch search(kinship, ties(), {});
  while (!search.step(1)) continue;
  EXPECT_TRUE(search.take().empty());
}

// In a child: its uid may not read that of the other, which never executed after its setresuid(2).
TEST_F(EscapesTest, AnEnvironmentThatIsNotReadableCostsARowOnly) {
  start(linger);
  start_orphan([&] {
    if (setresuid(kOther, kOther, kOther) != 0) return 1;
    pids().tell();
    return linger();
  });
  (void)pids().next();
  const pid_t readable = start_outside(variables(), kOther);
  Ties theirs = ties();
  theirs.uid = kOther;
  Child reader(at("outside"), [&] {
    if (setresuid(kOther, kOther, kOther) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) return 1;
    theirs.spared = {getpid()};
    Kinship kinship = pass();
    EscapeSearch search(kinship, theirs, {});
    while (!search.step(16)) continue;
    const auto found = search.take();
    if (found.size() != 1 || found[0].pid != static_cast<uint32_t>(readable)) return 2;
    return search.unreadable() == 1 ? 0 : 3;
  });
  EXPECT_EQ(reader.wait(), 0);
}

TEST_F(EscapesTest, AHiddenProcessIsARowLess) {
  start([&] {
    if (fork() == 0) {
      if (!move_to(at("outside"))) return 1;
      pids().tell();
    }
    return linger();
  });
  (void)pids().next();
  const Ties known = ties();
  Child reader(at("outside"), [&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") != 0)
      return 77;
    // Group 0 sees everything (gid=, proc(5)).
    if (setgroups(0, nullptr) != 0 || setresgid(kOther, kOther, kOther) != 0) return 1;
    if (setresuid(kOther, kOther, kOther) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) return 1;
    return escaped(known).empty() ? 0 : 2;
  });
  const int status = reader.wait();
  if (status == 77) GTEST_SKIP() << "needs the right to mount proc";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace corral::cgroup
