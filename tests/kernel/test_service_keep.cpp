#include <filesystem>

#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using harness::Named;
using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;

const std::string kCorral = harness::kErrorPrefix;
constexpr const char* kInvalidArgs = "org.freedesktop.DBus.Error.InvalidArgs";

// What an end spares: Keep, Release, and runs that were started with Parent "".
class ServiceKeep : public ServiceTest {
 protected:
  ServiceKeep() { std::filesystem::copy_file("/bin/sleep", spared_); }

  // A driver that leaves one of the spared and one other, says so and goes on with `script`.
  std::string start_both(const std::string& script, Dict options = {}) {
    options.try_emplace("Keep", std::vector<std::string>{"/none", "*/spared"});
    return start_ready(
        "a",
        shell("\"$0\" 100 >/dev/null & sleep 100 >/dev/null & echo ready; " + script, {spared_}),
        std::move(options));
  }
  // Who executes the spared program in the run, once one does.
  cgroup::Pidfd spared_in(const std::string& id) {
    uint32_t pid = 0;
    EXPECT_TRUE(eventually([&] {
      for (const auto& row : processes(id))
        if (value<std::string>(row, "Comm") == "spared") pid = value<uint32_t>(row, "PID");
      return pid != 0;
    }));
    return must(cgroup::Pidfd::open(static_cast<pid_t>(pid)));
  }
  Named run_of(const cgroup::Pidfd& process) {
    return must(client().get_run_by_pid(static_cast<uint32_t>(process.pid())));
  }
  Dict row_of(const cgroup::Pidfd& process, const Dict& report) {
    for (const auto& row : leaks(report))
      if (value<uint32_t>(row, "PID") == static_cast<uint32_t>(process.pid())) return row;
    throw std::runtime_error("no row of pid " + std::to_string(process.pid()));
  }
  // The process lives on in a run of its own, and the report of `a` says so.
  Named expect_kept(const cgroup::Pidfd& process, const Dict& report, const std::string& rule) {
    EXPECT_FALSE(process.exited());
    EXPECT_EQ(value<uint64_t>(report, "Kept"), 1U);
    EXPECT_EQ(value<std::string>(row_of(process, report), "Outcome"), "kept");
    EXPECT_EQ(value<std::string>(row_of(process, report), "Rule"), rule);
    const auto kept = run_of(process);
    EXPECT_THAT(kept.id, StartsWith("a.kept-"));
    EXPECT_EQ(property(kept.id, "Kind"), "kept");
    EXPECT_EQ(property(kept.id, "State"), "running");
    EXPECT_EQ(property(kept.id, "Containment"), "adopted");
    EXPECT_EQ(column<uint32_t>(processes(kept.id), "PID"),
              std::vector<uint32_t>{static_cast<uint32_t>(process.pid())});
    return kept;
  }
  void expect_ends(const Named& kept, const cgroup::Pidfd& process) {
    EXPECT_EQ(value<std::string>(end(kept.id), "EndReason"), "requested");
    EXPECT_TRUE(process.exited());
  }
  uint32_t driver(const std::string& id) { return property<uint32_t>(id, "DriverPID"); }
  static uint32_t number(const cgroup::Pidfd& process) {
    return static_cast<uint32_t>(process.pid());
  }

  std::string spared_ = stack_.temp() / "spared";
};

TEST_F(ServiceKeep, WhatAGlobMatchesOutlivesANaturalEnd) {
  Pipe gate;
  start_both("read line", {{"StandardInput", gate.read_end()}});
  gate.close_read();
  const auto spared = spared_in("a");
  gate.close_write();
  const auto report = ended("a");
  EXPECT_EQ(counts(report), (Counts{2, 1, 0}));
  const auto kept = expect_kept(spared, report, "Keep=*/spared");
  EXPECT_EQ(must(client().list_runs()).size(), 1U);
  expect_ends(kept, spared);
}

TEST_F(ServiceKeep, WhatAGlobMatchesOutlivesARequestedEndAndTheServicesRestart) {
  start_both("wait");
  const auto spared = spared_in("a");
  const auto kept = expect_kept(spared, end("a"), "Keep=*/spared");
  stack_.restart_corrald();
  EXPECT_EQ(run_of(spared).path, kept.path);
  EXPECT_EQ(property(kept.id, "Kind"), "kept");
  EXPECT_EQ(property(kept.id, "State"), "running");
  expect_ends(kept, spared);
}

TEST_F(ServiceKeep, WhatTheGlobsSayIsReadAgainByAServiceThatRestarts) {
  start_both("wait");
  const auto spared = spared_in("a");
  stack_.restart_corrald();
  EXPECT_THAT(property<std::vector<std::string>>("a", "Keep"), ElementsAre("/none", "*/spared"));
  expect_ends(expect_kept(spared, end("a"), "Keep=*/spared"), spared);
}

TEST_F(ServiceKeep, WhatIsSparedIsNotHeld) {
  Pipe gate;
  start_both("read line",
             {{"StandardInput", gate.read_end()}, {"OnDriverExit", std::string("freeze")}});
  gate.close_read();
  (void)spared_in("a");
  gate.close_write();
  ASSERT_TRUE(client().wait_state("a", "holding"));
  const auto report = must(client().get_report("a"));
  EXPECT_THAT(column(leaks(report), "Outcome"), UnorderedElementsAre("kept", "frozen"));
  const auto runs = must(client().list_runs({{"State", std::string("running")}}));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_FALSE(property<bool>(runs[0].id, "Frozen"));
  EXPECT_EQ(counts(end("a")), (Counts{2, 1, 0}));
  end(runs[0].id);
}

TEST_F(ServiceKeep, TheDriverIsSparedByNoGlob) {
  start("a", {spared_, "100"}, {{"Keep", std::vector<std::string>{"*"}}});
  const auto report = end("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM}));
  EXPECT_EQ(counts(report), Counts{});
}

TEST_F(ServiceKeep, ARunThatLeavesOnlyWhatIsSparedHasEnded) {
  start_both("exit 0", {{"Keep", std::vector<std::string>{"*"}}, {"SettleUSec", uint64_t{0}}});
  const auto report = ended("a");
  EXPECT_EQ(value<uint64_t>(report, "Kept"), 2U);
  const auto runs = must(client().list_runs());
  ASSERT_THAT(runs, SizeIs(1)) << "one run for those of one glob";
  EXPECT_THAT(processes(runs[0].id), SizeIs(2));
  end(runs[0].id);
}

TEST_F(ServiceKeep, AKeptRunEndsWhenItsProcessesHaveGone) {
  start_both("wait");
  const auto spared = spared_in("a");
  const auto kept = expect_kept(spared, end("a"), "Keep=*/spared");
  must(spared.signal(SIGKILL));
  ASSERT_TRUE(client().wait_state(kept.id, "ended"));
  EXPECT_EQ(value<uint64_t>(must(client().get_report(kept.id)), "Killed"), 0U);
}

TEST_F(ServiceKeep, ContradictsReport) {
  EXPECT_EQ(error_of(client().start_run("a", {"true"},
                                        {{"OnDriverExit", std::string("report")},
                                         {"Keep", std::vector<std::string>{"*"}}})),
            kInvalidArgs);
  EXPECT_EQ(error_of(client().get_run("a")), kCorral + "NoSuchRun") << "nothing is begun";
}

TEST_F(ServiceKeep, WhatIsReleasedOutlivesTheRun) {
  start_both("wait", {{"Keep", std::vector<std::string>{}}});
  const auto spared = spared_in("a");
  const auto path = must(client().get_run("a")).path;
  const auto released = must(client().release(path, {number(spared)}));
  EXPECT_EQ(run_of(spared).path, released.path);
  EXPECT_EQ(property("a", "State"), "running");
  EXPECT_THAT(processes("a"), SizeIs(2)) << "the driver and the other";
  const auto kept = expect_kept(spared, end("a"), "Release");
  EXPECT_EQ(kept.id, released.id);
  stack_.restart_corrald();
  expect_ends(run_of(spared), spared);
}

TEST_F(ServiceKeep, WhatIsNotOfTheRunIsNotReleasedAndNothingIsMoved) {
  start_both("wait");
  start("b", {"sleep", "100"});
  const auto spared = spared_in("a");
  const auto path = must(client().get_run("a")).path;
  const auto refused = [&](uint32_t pid) {
    return error_of(client().release(path, {number(spared), pid}));
  };
  EXPECT_EQ(refused(driver("b")), kInvalidArgs) << "of another run";
  EXPECT_EQ(refused(driver("a")), kInvalidArgs) << "the driver";
  EXPECT_EQ(refused(static_cast<uint32_t>(getpid())), kInvalidArgs) << "of no run";
  const auto gone = static_cast<uint32_t>(
      must(cgroup::clone_into(stack_.scratch().make("gone"), [] { return 0; })).pid());
  EXPECT_EQ(waitpid(static_cast<pid_t>(gone), nullptr, 0), static_cast<pid_t>(gone));
  EXPECT_EQ(refused(gone), "org.freedesktop.DBus.Error.UnixProcessIdUnknown");
  EXPECT_EQ(run_of(spared).id, "a");
  EXPECT_THAT(must(client().list_runs()), SizeIs(2));
  EXPECT_EQ(property("b", "State"), "running");
  end("b");
  const auto kept =
      run_of(spared).id == "a" ? expect_kept(spared, end("a"), "Keep=*/spared") : run_of(spared);
  EXPECT_EQ(error_of(client().release(path, {number(spared)})), kCorral + "RunBusy");
  expect_ends(kept, spared);
}

TEST_F(ServiceKeep, ARunWithoutAParentOutlivesTheOneItWasStartedFrom) {
  start("a", {"sleep", "100"});
  ASSERT_TRUE(inside(directory_of("a"), [](harness::Client& mine) {
    return bool(mine.start_run("free", {"/bin/sleep", "100"}, {{"Parent", std::string()}}));
  }));
  EXPECT_EQ(property<sdbus::ObjectPath>("free", "Parent"), "/");
  EXPECT_EQ(property("free", "Kind"), "driver");
  EXPECT_THAT(directory_of("free"), StartsWith(stack_.runs() + "/free."));
  const auto free = must(cgroup::Pidfd::open(static_cast<pid_t>(driver("free"))));

  const auto report = end("a");
  EXPECT_EQ(value<std::string>(row_of(free, report), "Outcome"), "kept");
  EXPECT_EQ(value<std::string>(row_of(free, report), "Rule"), "Parent \"\"");
  EXPECT_EQ(counts(report), (Counts{1, 0, 0}));
  EXPECT_FALSE(free.exited());
  EXPECT_EQ(property("free", "State"), "running");
  EXPECT_EQ(run_of(free).id, "free");
  EXPECT_EQ(value<std::string>(end("free"), "EndReason"), "requested");
}

TEST_F(ServiceKeep, ARunWithoutAParentIsNamedAfterARestartToo) {
  start("a", {"sleep", "100"});
  ASSERT_TRUE(inside(directory_of("a"), [](harness::Client& mine) {
    return bool(mine.start_run("free", {"/bin/sleep", "100"}, {{"Parent", std::string()}}));
  }));
  stack_.restart_corrald();
  EXPECT_EQ(value<uint64_t>(end("a"), "Kept"), 1U);
  EXPECT_EQ(property("free", "State"), "running");
  end("free");
}

}  // namespace
}  // namespace corral::test
