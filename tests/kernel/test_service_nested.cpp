#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using harness::Opened;

const std::string kCorral = harness::kErrorPrefix;

// Runs that were started from inside a run.
class ServiceNested : public ServiceTest {
 protected:
  std::string start_outer(const std::string& id = "outer") {
    return stack_.runs() + "/" + start(id, {"sleep", "100"});
  }
  // Starts `id` from inside the run at `directory`; its own directory.
  std::string start_inside(const std::string& directory, const std::string& id,
                           const Command& argv = {"sleep", "100"}) {
    EXPECT_TRUE(inside(directory, [&](harness::Client& mine) {
      return bool(mine.start_run(id, argv,
                                 {{"Environment", std::vector<std::string>{"PATH=/bin"}},
                                  {"GraceUSec", 2'000 * kMilliseconds}}));
    }));
    return directory_of(id);
  }
  static std::string invocation_of(const Dict& row) {
    return value<std::string>(row, "Invocation");
  }
  std::string reason(const std::string& id) {
    return value<std::string>(must(client().get_report(id)), "EndReason");
  }
  void expect_outer_and_inner_end() {
    const auto report = must(client().end_run("outer"));
    EXPECT_EQ(value<std::string>(report, "State"), "ended");
    EXPECT_EQ(property("inner", "State"), "ended");
    EXPECT_EQ(reason("inner"), "parent-ended");
  }
};

TEST_F(ServiceNested, LieInsideTheRunTheyWereStartedFrom) {
  const auto outer = start_outer();
  const auto inner = start_inside(outer, "inner");
  EXPECT_EQ(inner.substr(0, outer.size()), outer);
  EXPECT_EQ(inner.substr(outer.size(), 12), "/runs/inner.");
  EXPECT_EQ(property<sdbus::ObjectPath>("inner", "Parent"), must(client().get_run("outer")).path);
  EXPECT_EQ(property<sdbus::ObjectPath>("outer", "Parent"), "/");
  const auto driver = property<uint32_t>("inner", "DriverPID");
  EXPECT_EQ(must(client().get_run_by_pid(driver)).id, "inner");
  expect_outer_and_inner_end();
}

TEST_F(ServiceNested, EndAloneAndTheOuterGoesOn) {
  const auto outer = start_outer();
  start_inside(outer, "inner");
  EXPECT_TRUE(inside(outer, [](harness::Client& mine) { return bool(mine.end_run("inner")); }));
  EXPECT_EQ(reason("inner"), "requested");
  EXPECT_EQ(property("outer", "State"), "running");
  end("outer");
}

TEST_F(ServiceNested, EndWithTheOuterAtWhateverDepth) {
  const auto innermost = start_inside(start_inside(start_outer(), "inner"), "innermost");
  expect_outer_and_inner_end();
  EXPECT_EQ(reason("innermost"), "parent-ended");
}

TEST_F(ServiceNested, EndWhenTheOuterEndsByItself) {
  const auto outer = stack_.runs() + "/" + start("outer", {"sh", "-c", "sleep 0.5"});
  start_inside(outer, "inner");
  EXPECT_EQ(value<std::string>(ended("outer"), "EndReason"), "driver-exited");
  EXPECT_EQ(reason("inner"), "parent-ended");
}

TEST_F(ServiceNested, LeaksAreInTheReportsOfAllThatTheyAreIn) {
  const auto outer = start_outer();
  const auto inner = start_inside(outer, "inner", shell("trap \"\" TERM; exec sleep 100"));
  start_inside(inner, "innermost");
  const auto report = must(client().end_run("outer", {{"GraceUSec", 200 * kMilliseconds}}));
  std::map<std::string, std::string> told;
  for (const Dict& row : leaks(report)) {
    EXPECT_EQ(invocation_of(row),
              invocation_of(must(client().get_report(value<std::string>(row, "Run")))));
    told[value<std::string>(row, "Run")] += value<std::string>(row, "Outcome") + " ";
  }
  EXPECT_EQ(told, (std::map<std::string, std::string>{{"inner", "kill "}, {"innermost", "term "}}));
  EXPECT_EQ(counts(report), (Counts{2, 1, 1}));
  EXPECT_EQ(counts(must(client().get_report("inner"))), (Counts{1, 1, 0})) << "the innermost's";
  EXPECT_EQ(must(client().manager_property("Leaks")).get<uint32_t>(), 0U);
}

TEST_F(ServiceNested, LeaksAreListedOnce) {
  const auto outer = stack_.runs() + "/" +
                     start("outer", shell("sleep 100 & exec sleep 0.5"),
                           {{"OnDriverExit", std::string("report")}});
  start_inside(outer, "inner");
  ASSERT_TRUE(client().wait_state("outer", "holding"));
  EXPECT_THAT(column(must(client().list_leaks()), "Run"), testing::ElementsAre("outer"));
  EXPECT_THAT(column(must(client().list_leaks({{"Run", std::string("outer")}})), "Run"),
              testing::UnorderedElementsAre("outer", "inner"));
  EXPECT_EQ(must(client().manager_property("Leaks")).get<uint32_t>(), 1U);
  expect_outer_and_inner_end();
}

TEST_F(ServiceNested, AreOpenedInsideToo) {
  const auto outer = start_outer();
  EXPECT_TRUE(inside(outer, [&](harness::Client& mine) {
    const auto opened = mine.open_run("inner");
    return opened && opened->directory.starts_with(outer + "/runs/inner.");
  }));
  EXPECT_EQ(value<std::string>(ended("inner"), "EndReason"), "lease-lost");
  end("outer");
}

TEST_F(ServiceNested, AreAskedForByNameFromOutside) {
  start_outer();
  must(client().start_run("inner", {"sleep", "100"}, {{"Parent", std::string("outer")}}));
  EXPECT_EQ(error_of(client().start_run("x", {"true"}, {{"Parent", std::string("nobody")}})),
            kCorral + "NoSuchRun");
  EXPECT_EQ(error_of(client().start_run("x", {"true"}, {{"Parent", std::string("-")}})),
            "org.freedesktop.DBus.Error.InvalidArgs");
  expect_outer_and_inner_end();
  EXPECT_EQ(error_of(client().start_run("x", {"true"}, {{"Parent", std::string("outer")}})),
            kCorral + "RunBusy");
}

TEST_F(ServiceNested, ReachNothingOutside) {
  const auto outer = start_outer(), other = start_outer("other");
  const auto inner = start_inside(outer, "inner");
  EXPECT_TRUE(inside(inner, [](harness::Client& mine) {
    return error_of(mine.end_run("outer")) == kCorral + "WouldKillCaller" &&
           error_of(mine.end_run("inner")) == kCorral + "WouldKillCaller" &&
           error_of(mine.signal_run("outer", "driver", SIGTERM)) == kCorral + "NotOwner" &&
           error_of(mine.end_run("other")) == kCorral + "NotOwner" &&
           error_of(mine.end_run("other", {{"AllowSelf", true}})) == kCorral + "NotOwner" &&
           error_of(mine.freeze_run("other")) == kCorral + "NotOwner" &&
           error_of(mine.set_run("outer", {{"Owner", std::string("me")}})) ==
               kCorral + "NotOwner" &&
           error_of(mine.renew_lease("outer", 1)) == kCorral + "NotOwner" &&
           error_of(mine.set_enforcement("observe")) == kCorral + "NotOwner" &&
           error_of(mine.start_run("x", {"true"}, {{"Parent", std::string("other")}})) ==
               kCorral + "NotOwner";
  }));
  EXPECT_TRUE(inside(outer, [](harness::Client& mine) {
    return bool(mine.signal_run("inner", "driver", SIGCONT));
  }));
  end("other");
  expect_outer_and_inner_end();
}

TEST_F(ServiceNested, AreCountedInTheOuterAndListedByThemselves) {
  const auto inner = start_inside(start_outer(), "inner");
  const auto innermost = start_inside(inner, "innermost");
  uint32_t deep = 3;
  for (const char* id : {"outer", "inner", "innermost"}) {
    const auto driver = property<uint32_t>(id, "DriverPID");
    EXPECT_EQ(must(client().get_run_by_pid(driver)).id, id) << "the innermost";
    EXPECT_EQ(column<uint32_t>(processes(id), "PID"), std::vector<uint32_t>{driver}) << id;
    EXPECT_EQ(property<uint32_t>(id, "Descendants"), deep--) << id;
  }
  EXPECT_EQ(must(client().list_runs({{"Parent", std::string("outer")}})).size(), 1U);
  expect_outer_and_inner_end();
}

TEST_F(ServiceNested, CountTheirLeaksForThemselves) {
  const auto outer = start_outer();
  start_inside(outer, "inner", shell("sleep 100 & sleep 100 & exit 0"));
  const auto report = ended("inner");
  EXPECT_EQ(counts(report), (Counts{2, 2, 0}));
  EXPECT_EQ(counts(end("outer")), Counts{});
}

TEST_F(ServiceNested, AreReachedByTheRunsThatTheyAreNestedIn) {
  const auto outer = start_outer();
  const auto innermost = start_inside(start_inside(outer, "inner"), "innermost");
  EXPECT_TRUE(inside(outer, [](harness::Client& mine) {
    return bool(mine.freeze_run("innermost")) && bool(mine.thaw_run("innermost")) &&
           bool(mine.set_run("inner", {{"Owner", std::string("me")}})) &&
           bool(mine.end_run("innermost"));
  }));
  EXPECT_EQ(reason("innermost"), "requested");
  EXPECT_EQ(property("inner", "Owner"), "me");
  expect_outer_and_inner_end();
}

TEST_F(ServiceNested, OutliveTheService) {
  const auto innermost = start_inside(start_inside(start_outer(), "inner"), "innermost");
  const auto parent = property<sdbus::ObjectPath>("innermost", "Parent");
  stack_.restart_corrald();
  EXPECT_EQ(property<sdbus::ObjectPath>("innermost", "Parent"), parent);
  EXPECT_EQ(property("innermost", "State"), "running");
  expect_outer_and_inner_end();
  EXPECT_EQ(reason("innermost"), "parent-ended");
}

TEST_F(ServiceNested, AreKilledWhereTheyAreStubborn) {
  const auto outer = start_outer();
  start_inside(outer, "inner", stubborn({"ignore-term"}));
  const auto report = must(client().end_run("outer", {{"GraceUSec", 200 * kMilliseconds}}));
  EXPECT_EQ(value<std::string>(report, "State"), "ended");
  EXPECT_EQ(property("inner", "State"), "ended");
}

}  // namespace
}  // namespace corral::test
