#include <filesystem>

#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;
using testing::Not;

const std::string kCorral = harness::kErrorPrefix;

// A file system that answers nobody: who asks it waits in the kernel, and SIGKILL has to wait, too.
// Its server is outside of all runs; with it go mount and connection.
class HungMount {
 public:
  explicit HungMount(const harness::TempDir& temp)
      : directory_(temp / "hung"), log_(temp / "hung.log"), server_(serve(directory_, log_)) {
    EXPECT_TRUE(eventually([&] { return said() == "ready\n" || server_.pidfd().exited(); }));
    EXPECT_EQ(said(), "ready\n");
  }
  // A file in it, as everybody gets there.
  std::string file(const std::string& name) const {
    return "/proc/" + std::to_string(server_.pid()) + "/root" + directory_ + "/" + name;
  }
  // Returns when the server has read somebody's request for the file: now it cannot be taken back.
  void wait_asked(const std::string& name) const {
    EXPECT_TRUE(eventually([&] { return said().ends_with("asked " + name + "\n"); })) << said();
  }
  // Everybody is let go, with an error.
  void let_go() { server_.kill(); }

 private:
  static harness::Child serve(const std::string& directory, const std::string& log) {
    std::filesystem::create_directory(directory);
    return harness::Child(
        harness::Command{.argv = {CORRAL_MISBEHAVE, "hung-mount", directory}, .log = log});
  }
  std::string said() const { return must(base::read_at(AT_FDCWD, log_)); }

  std::string directory_, log_;
  harness::Child server_;
};

class ServiceStuck : public ServiceTest {
 protected:
  static std::string pid_text(const Dict& row) {
    return "pid " + std::to_string(value<uint32_t>(row, "PID"));
  }
  Dict row_of(const std::string& comm, const std::vector<Dict>& rows) {
    for (const Dict& row : rows)
      if (value<std::string>(row, "Comm") == comm) return row;
    throw std::runtime_error("no row of " + comm);
  }
  // EndRun, which must give up; its message.
  std::string end_in_vain(const std::string& id) {
    const auto answer = client().end_run(id, {{"GraceUSec", 200 * kMilliseconds}});
    EXPECT_EQ(error_of(answer), kCorral + "StillPopulated");
    return answer ? "" : answer.error().message;
  }

  HungMount mount_{stack_.temp()};
};

TEST_F(ServiceStuck, AProcessInAHungMountKeepsItsRunEndingUntilTheMountGoes) {
  start_ready("a", shell("stat \"$0\" & sleep 100 & echo ready; wait", {mount_.file("f")}));
  mount_.wait_asked("f");
  const auto held = pidfds("a");

  const auto asked = std::chrono::steady_clock::now();
  const auto message = end_in_vain("a");
  EXPECT_THAT(std::chrono::steady_clock::now() - asked,
              AllOf(Ge(std::chrono::seconds{2}), Le(std::chrono::seconds{4})));

  const auto report = must(client().get_report("a"));
  const auto row = row_of("stat", leaks(report));
  EXPECT_EQ(value<std::string>(row, "Outcome"), "stuck");
  EXPECT_EQ(value<std::string>(row, "State"), "D");
  EXPECT_THAT(value<std::string>(row, "WaitChannel"), Not(testing::IsEmpty()));
  EXPECT_THAT(message, HasSubstr(pid_text(row) + " (stat, D in " +
                                 value<std::string>(row, "WaitChannel") + ")"));
  EXPECT_EQ(value<std::string>(row_of("sleep", leaks(report)), "Outcome"), "term");
  EXPECT_EQ(value<std::string>(report, "State"), "ending");
  EXPECT_EQ(property<uint32_t>("a", "Stuck"), 1U);
  EXPECT_EQ(property("a", "State"), "ending");
  EXPECT_EQ(end_in_vain("a"), message) << "asked again while it is stuck";

  mount_.let_go();
  const auto last = ended("a");
  for (const auto& process : held) EXPECT_TRUE(process.exited()) << process.pid();
  EXPECT_EQ(counts(last), (Counts{2, 1, 1}));
  EXPECT_EQ(value<std::string>(row_of("stat", leaks(last)), "Outcome"), "kill");
  EXPECT_EQ(must(client().end_run("a")).at("Leaks").get<std::vector<Dict>>().size(), 2U);
}

TEST_F(ServiceStuck, ADriverInAHungMountKeepsItsRunEndingUntilTheMountGoes) {
  start("a", {"stat", mount_.file("f")});
  mount_.wait_asked("f");
  const auto driver = std::to_string(property<uint32_t>("a", "DriverPID"));
  EXPECT_THAT(end_in_vain("a"), HasSubstr("pid " + driver + " (stat, D in "));
  EXPECT_EQ(property("a", "State"), "ending");
  EXPECT_EQ(property<uint32_t>("a", "Stuck"), 1U);

  mount_.let_go();
  const auto report = ended("a");
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGTERM}));
  EXPECT_EQ(counts(report), Counts{}) << "the driver is no leak";
}

TEST_F(ServiceStuck, AStuckRunIsStillEndingAfterARestartOfTheService) {
  start_ready("a", shell("stat \"$0\" & echo ready; wait", {mount_.file("f")}));
  mount_.wait_asked("f");
  end_in_vain("a");
  stack_.restart_corrald();
  EXPECT_EQ(property("a", "State"), "ending");
  EXPECT_THAT(end_in_vain("a"), HasSubstr("(stat, D in "));
  EXPECT_EQ(property<uint32_t>("a", "Stuck"), 1U);

  mount_.let_go();
  EXPECT_EQ(counts(ended("a")), (Counts{1, 0, 1}));
}

TEST_F(ServiceStuck, EndRunsSaysWhichOfThemIsStuck) {
  start("a", {"stat", mount_.file("f")});
  start("b", {"sleep", "100"});
  mount_.wait_asked("f");
  std::map<std::string, Dict> rows;
  for (const auto& row : must(client().end_runs({{"GraceUSec", 200 * kMilliseconds}})))
    rows[value<std::string>(row, "Id")] = row;
  EXPECT_EQ(value<std::string>(rows["a"], "Outcome"), kCorral + "StillPopulated");
  EXPECT_EQ(value<std::string>(rows["a"], "State"), "ending");
  EXPECT_THAT(value<std::string>(rows["a"], "Message"), HasSubstr("(stat, D in "));
  EXPECT_EQ(value<std::string>(rows["b"], "Outcome"), "ended");
  mount_.let_go();
  ended("a");
}

// The second to ask for the same name waits for the first, and no signal reaches it from the start.
TEST_F(ServiceStuck, ARunThatCannotBeFrozenIsThawedAgain) {
  Pipe gate, output;
  const auto directory =
      start("a",
            shell("stat \"$0\" & stat \"$0\" & echo ready; read line; echo went on; wait",
                  {mount_.file("f")}),
            {{"StandardInput", gate.read_end()}, {"StandardOutput", output.write_end()}});
  gate.close_read();
  output.close_write();
  ASSERT_EQ(output.read(), "ready\n");
  mount_.wait_asked("f");
  ASSERT_TRUE(
      eventually([&] { return std::ranges::count(column(processes("a"), "State"), "D") > 0; }));

  EXPECT_EQ(error_of(client().freeze_run("a")), kCorral + "FreezeTimeout");
  EXPECT_FALSE(property<bool>("a", "Frozen"));
  EXPECT_EQ(must(base::read_at(open(directory, "work").fd(), "cgroup.freeze")), "0\n");
  gate.close_write();
  EXPECT_EQ(output.read(), "went on\n");

  mount_.let_go();
  EXPECT_EQ(counts(ended("a")), Counts{});
}

// The end's own freeze would be thawed when it has looked, and the other with it.
TEST_F(ServiceStuck, ARunIsNotFrozenWhileItsEndHasItFrozen) {
  const auto file = stack_.temp() / "corrald.conf";
  must(base::replace_at(AT_FDCWD, file, "[Bounds]\nFreezeSec=2s\n"));
  stack_.options().corrald_arguments = {"--config=" + file};
  stack_.restart_corrald();
  Pipe gate;
  const auto directory =
      start("a", shell("stat \"$0\" & stat \"$0\" & read line", {mount_.file("f")}),
            {{"StandardInput", gate.read_end()},
             {"OnDriverExit", std::string("report")},
             {"SettleUSec", uint64_t{0}}});
  gate.close_read();
  mount_.wait_asked("f");
  ASSERT_TRUE(
      eventually([&] { return std::ranges::count(column(processes("a"), "State"), "D") > 0; }));
  gate.close_write();
  const auto work = open(directory, "work");
  ASSERT_TRUE(eventually([&] { return must(base::read_at(work.fd(), "cgroup.freeze")) == "1\n"; }));
  EXPECT_EQ(error_of(client().freeze_run("a")), kCorral + "RunBusy");
  EXPECT_EQ(error_of(client().thaw_run("a")), kCorral + "RunBusy");
  ASSERT_TRUE(client().wait_state("a", "holding"));
  EXPECT_FALSE(property<bool>("a", "Frozen"));
  mount_.let_go();
  ended("a");
}

TEST_F(ServiceStuck, ARunWithANestedOneThatCannotBeFrozenIsThawedAgain) {
  start("outer", {"sleep", "100"});
  start("inner", shell("stat \"$0\" & stat \"$0\" & wait", {mount_.file("f")}),
        {{"Parent", std::string("outer")}});
  mount_.wait_asked("f");
  ASSERT_TRUE(
      eventually([&] { return std::ranges::count(column(processes("inner"), "State"), "D") > 0; }));
  EXPECT_EQ(error_of(client().freeze_run("outer")), kCorral + "FreezeTimeout");
  for (const char* id : {"outer", "inner"}) {
    EXPECT_FALSE(property<bool>(id, "Frozen")) << id;
    const auto work = must(cgroup::Group::open(AT_FDCWD, directory_of(id) + "/work"));
    EXPECT_EQ(must(base::read_at(work.fd(), "cgroup.freeze")), "0\n") << id;
  }
  mount_.let_go();
  end("outer");
}

}  // namespace
}  // namespace corral::test
