#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "cgroup/control.h"
#include "cgroup/group.h"
#include "cgroup/record.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"
#include "run/record.h"

namespace corral {
namespace {

using harness::Dict;
using harness::must;
using harness::value;

Dict options(uint64_t grace_usec = 2'000'000) {
  return {{"Environment", std::vector<std::string>{"PATH=/usr/bin:/bin"}},
          {"GraceUSec", grace_usec}};
}

// A driver that leaves one sleeper behind and exits with `status` when the file `gate` appears.
std::vector<std::string> gated_driver(const std::string& gate, int status) {
  const std::string script = "setsid sleep 100 & while ! [ -e \"$0\" ]; do sleep 0.01; done; exit ";
  return {"sh", "-c", script + std::to_string(status), gate};
}

class ServiceRecovery : public testing::Test {
 protected:
  std::string run_name(int number) { return "r" + std::to_string(number); }

  void touch(const std::string& path) { must(base::replace_at(AT_FDCWD, path, "")); }

  // Exits that supervisors have recorded.
  int recorded_exits() {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(stack_.state_dir() + "/live")) {
      if (file.path().extension() == ".exit" && file.file_size() > 0) ++count;
    }
    return count;
  }

  // A directory of a run as a service leaves it that dies right after it wrote the record.
  cgroup::Group half_made(const std::string& id, uint64_t id_error = 0) {
    const auto invocation = *run::Invocation::parse(base::random_hex());
    const auto run_id = *run::RunId::parse(id);
    const auto runs = must(cgroup::Group::open(AT_FDCWD, stack_.runs()));
    auto group = must(cgroup::Group::create(runs.fd(), run::directory_name(run_id, invocation)));
    const run::Record record{.id = run_id,
                             .invocation = invocation,
                             .owner = {},
                             .owner_uid = 0,
                             .token = {},
                             .description = {},
                             .labels = {},
                             .policy = {},
                             .boot_id = must(base::boot_id()),
                             .cgroup_id = group.id() + id_error,
                             .start = base::Moment::now(),
                             .containment = run::Containment::cooperative};
    must(cgroup::write_record(group, run::kRecordXattr, run::to_json(record)));
    return group;
  }

  void write_stub(const std::string& id, const std::string& boot_id) {
    const run::Record record{.id = *run::RunId::parse(id),
                             .invocation = *run::Invocation::parse(base::random_hex()),
                             .owner = "engine",
                             .owner_uid = 0,
                             .token = {},
                             .description = "kept",
                             .labels = {},
                             .policy = {},
                             .boot_id = boot_id,
                             .cgroup_id = 1,
                             .start = base::Moment::now()};
    must(base::replace_at(AT_FDCWD,
                          stack_.state_dir() + "/live/" + record.invocation.text() + ".json",
                          run::to_json(record)));
  }

  harness::Stack stack_;
  std::string gate_ = stack_.temp() / "gate";
};

TEST_F(ServiceRecovery, KnowsEveryRunAfterSigkillAndEveryExitThatItMissed) {
  for (int i = 0; i < 10; ++i) {
    const auto gate = i < 5 ? gate_ : gate_ + ".never";
    must(stack_.client().start_run(run_name(i), gated_driver(gate, i), options()));
  }
  stack_.kill_corrald();
  touch(gate_);
  ASSERT_TRUE(harness::eventually([&] { return recorded_exits() == 5; }));
  stack_.start_corrald();

  EXPECT_EQ(must(stack_.client().list_runs({{"All", true}})).size(), 10U);
  for (int i = 0; i < 5; ++i) {
    must(stack_.client().wait_run(run_name(i)));
    const auto report = must(stack_.client().get_report(run_name(i)));
    EXPECT_EQ(value<std::string>(report, "State"), "ended");
    EXPECT_EQ(value<std::string>(report, "EndReason"), "driver-exited");
    EXPECT_EQ(value<std::string>(report, "DriverExit"), "exited");
    EXPECT_EQ(value<int32_t>(report, "DriverStatus"), i);
    EXPECT_EQ(value<uint64_t>(report, "LeaksFound"), 1U);
  }
  for (int i = 5; i < 10; ++i) {
    EXPECT_TRUE(stack_.client().wait_state(run_name(i), "running"));
    const auto report = must(stack_.client().end_run(run_name(i)));
    EXPECT_EQ(value<std::string>(report, "DriverExit"), "killed");
    EXPECT_EQ(value<int32_t>(report, "DriverStatus"), SIGTERM);
  }
}

// The second file that it renames is the report, after the stub of the start.
TEST_F(ServiceRecovery, KeepsTheDirectoryOfARunUntilItsReportIsStored) {
  stack_.kill_corrald();
  stack_.options().corrald_wrapper = {"strace",
                                      "-D",
                                      "-qq",
                                      "-o",
                                      stack_.temp() / "trace",
                                      "-e",
                                      "inject=renameat:delay_enter=1500000:when=2"};
  stack_.start_corrald();
  const auto run = must(stack_.client().start_run("r", {"sleep", "100"}, options()));
  auto end = options(0);
  end.erase("Environment");
  end["NoBlock"] = true;
  must(stack_.client().end_run("r", end));
  const auto report_file = stack_.state_dir() + "/ended/" + run.invocation + ".json";
  ASSERT_TRUE(harness::eventually([&] { return std::filesystem::exists(report_file + ".new"); }));
  const auto directory = stack_.runs() + "/r." + run.invocation;
  EXPECT_FALSE(harness::eventually(std::chrono::milliseconds(200),
                                   [&] { return !std::filesystem::exists(directory); }));
  ASSERT_FALSE(std::filesystem::exists(report_file));
  stack_.kill_corrald();
  stack_.options().corrald_wrapper = {};
  stack_.start_corrald();
  ASSERT_TRUE(stack_.client().wait_state("r", "ended"));
  const auto report = must(stack_.client().get_report("r"));
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
}

TEST_F(ServiceRecovery, LeavesRunsAloneWhenItIsStopped) {
  must(stack_.client().start_run("r", {"sleep", "100"}, options()));
  const auto before = stack_.processes();  // the prober of the kernel's bugs may be among them
  EXPECT_EQ(stack_.stop_corrald(), 0);
  EXPECT_THAT(stack_.processes(), testing::SizeIs(2));  // supervisor and driver
  EXPECT_THAT(before, testing::IsSupersetOf(stack_.processes()));
  stack_.start_corrald();
  EXPECT_TRUE(stack_.client().wait_state("r", "running"));
  must(stack_.client().end_run("r"));
}

TEST_F(ServiceRecovery, AsksNobodyTwiceWhenItDiesInTheMiddleOfAnEnd) {
  const auto counted = stack_.temp() / "terms";
  const auto ready = stack_.temp() / "ready";
  must(stack_.client().start_run(
      "r",
      {"sh", "-c", "trap 'echo TERM >>\"$0\"' TERM; : >\"$1\"; while :; do sleep 0.01; done",
       counted, ready},
      options()));
  ASSERT_TRUE(harness::eventually([&] { return std::filesystem::exists(ready); }));
  // Answered late or never: the service dies while the grace runs.
  std::thread ender([address = stack_.address()] {
    (void)harness::Client(address).end_run("r", {{"Reason", std::string("cancelled")}});
  });
  ASSERT_TRUE(harness::eventually([&] { return std::filesystem::exists(counted); }));
  stack_.kill_corrald();
  ender.join();
  stack_.start_corrald();

  must(stack_.client().wait_run("r"));
  const auto report = must(stack_.client().get_report("r"));
  EXPECT_EQ(value<std::string>(report, "EndReason"), "requested");
  EXPECT_EQ(value<std::string>(report, "EndMessage"), "cancelled");
  EXPECT_EQ(value<int32_t>(report, "DriverStatus"), SIGKILL);
  EXPECT_EQ(must(base::read_at(AT_FDCWD, counted)), "TERM\n");
}

TEST_F(ServiceRecovery, EndsAStartThatWasCutOff) {
  stack_.kill_corrald();
  (void)half_made("cut");
  stack_.start_corrald();
  must(stack_.client().wait_run("cut"));
  const auto report = must(stack_.client().get_report("cut"));
  EXPECT_EQ(value<std::string>(report, "Result"), "start-failed");
}

TEST_F(ServiceRecovery, LeavesADirectoryAloneThatItsRecordDoesNotName) {
  stack_.kill_corrald();
  const auto stranger = half_made("stranger", 1);
  const auto held = must(cgroup::Group::create(stranger.fd(), "work"));
  harness::Child sleeper({.argv = {"sleep", "100"}, .group = held.fd()});
  stack_.start_corrald();
  EXPECT_EQ(harness::error_of(stack_.client().get_run("stranger")),
            std::string(harness::kErrorPrefix) + "NoSuchRun");
  EXPECT_TRUE(must(held.events()).populated);
  EXPECT_NE(stack_.log().find("not claimed and left alone"), std::string::npos);
  sleeper.kill();
  EXPECT_TRUE(must(cgroup::wait_populated(held, false, std::chrono::seconds{5})));
  stack_.restart_corrald();  // which removes what is empty
}

TEST_F(ServiceRecovery, SaysLostOrRebootOfAStubWithoutADirectory) {
  stack_.kill_corrald();
  write_stub("lost", must(base::boot_id()));
  write_stub("earlier", std::string(32, 'a'));
  stack_.start_corrald();
  const auto lost = must(stack_.client().get_report("lost"));
  EXPECT_EQ(value<std::string>(lost, "EndReason"), "lost");
  EXPECT_EQ(value<std::string>(lost, "Result"), "unknown");
  const auto earlier = must(stack_.client().get_report("earlier"));
  EXPECT_EQ(value<std::string>(earlier, "EndReason"), "reboot");
  EXPECT_FALSE(value<std::string>(earlier, "UnknownReason").empty());
}

TEST_F(ServiceRecovery, SetsAsideWhatItCannotRead) {
  stack_.kill_corrald();
  must(base::replace_at(AT_FDCWD, stack_.state_dir() + "/live/torn.json", "{\"Version\":1,"));
  must(base::replace_at(AT_FDCWD, stack_.state_dir() + "/ended/torn.json", "no json"));
  stack_.start_corrald();
  EXPECT_TRUE(must(stack_.client().list_runs({{"All", true}})).empty());
  EXPECT_TRUE(std::filesystem::exists(stack_.state_dir() + "/broken/torn.json"));
}

TEST_F(ServiceRecovery, KeepsEndedRunsAsTheyWereOverARestart) {
  auto described = options();
  described["Description"] = std::string("nightly");
  described["Labels"] = std::map<std::string, std::string>{{"team", "a"}};
  described["SettleUSec"] = uint64_t{12'345};
  const auto run = must(stack_.client().start_run("r", {"sh", "-c", "exit 7"}, described));
  must(stack_.client().wait_run("r"));
  const auto before = must(stack_.client().run_properties(run.path));
  const auto ended = value<uint64_t>(must(stack_.client().get_report("r")), "EndTimestamp");
  stack_.restart_corrald();
  const auto after = must(stack_.client().run_properties(run.path));
  ASSERT_EQ(after.size(), before.size());
  for (const char* text : {"Invocation", "Description", "State", "Result", "Containment"})
    EXPECT_EQ(value<std::string>(after, text), value<std::string>(before, text)) << text;
  for (const char* number : {"ControlGroupId", "SettleUSec", "GraceUSec", "EndTimestamp"})
    EXPECT_EQ(value<uint64_t>(after, number), value<uint64_t>(before, number)) << number;
  EXPECT_EQ(value<int32_t>(after, "DriverStatus"), 7);
  EXPECT_EQ(value<uint64_t>(must(stack_.client().get_report("r")), "EndTimestamp"), ended);
  EXPECT_EQ(
      must(stack_.client().list_runs({{"All", true}, {"Label", std::string("team=a")}})).size(),
      1u);
}

TEST_F(ServiceRecovery, GoesOnWithoutASpawnerAndStartsAgainWhenThereIsOne) {
  must(stack_.client().start_run("live", gated_driver(gate_, 4), options()));
  stack_.kill_spawner();
  const auto refused = stack_.client().start_run("late", {"true"}, options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().name, std::string(harness::kErrorPrefix) + "StartFailed");
  EXPECT_NE(refused.error().message.find("spawner"), std::string::npos);
  touch(gate_);
  must(stack_.client().wait_run("live"));
  EXPECT_EQ(value<int32_t>(must(stack_.client().get_report("live")), "DriverStatus"), 4);

  stack_.start_spawner();
  must(stack_.client().start_run("late", {"true"}, options()));
  must(stack_.client().wait_run("late"));
}

TEST_F(ServiceRecovery, ExitsWhenTheBusGoesAndFindsItsRunsOnTheNextOne) {
  must(stack_.client().start_run("r", {"sleep", "100"}, options()));
  stack_.kill_bus();
  const auto status = stack_.corrald().wait(harness::kDeadline);
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 75);
  stack_.start_bus();
  stack_.start_corrald();
  EXPECT_TRUE(stack_.client().wait_state("r", "running"));
  must(stack_.client().end_run("r"));
}

// While no run was in it anybody with the right can do that, as when a slice is stopped.
TEST_F(ServiceRecovery, MakesItsDirectoryAgainWhereSomebodyRemovedIt) {
  must(stack_.client().start_run("before", {"true"}, options()));
  ASSERT_TRUE(stack_.client().wait_state("before", "ended"));
  const auto remove = [](const std::string& directory) {
    return harness::eventually([&] { return rmdir(directory.c_str()) == 0; });
  };
  ASSERT_TRUE(remove(stack_.runs()) && remove(stack_.root()));
  must(stack_.client().start_run("after", {"sh", "-c", "sleep 100 & exit 3"}, options()));
  ASSERT_TRUE(stack_.client().wait_state("after", "ended"));
  const auto report = must(stack_.client().get_report("after"));
  EXPECT_EQ(value<int32_t>(report, "DriverStatus"), 3);
  EXPECT_EQ(value<uint64_t>(report, "LeaksFound"), 1u);
  ASSERT_TRUE(remove(stack_.runs()));
  EXPECT_EQ(must(stack_.client().open_run("opened")).directory.find(stack_.runs() + "/opened."),
            0u);
  must(stack_.client().end_run("opened"));
  EXPECT_NE(stack_.log().find("/runs/ was removed; it is made again"), std::string::npos);
}

}  // namespace
}  // namespace corral
