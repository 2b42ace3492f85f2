#include "service_test.h"

namespace corral::test {
namespace {

using harness::error_of;

const std::string kCorral = harness::kErrorPrefix;

// FreezeRun and ThawRun: a person's own act.
class ServiceFreeze : public ServiceTest {
 protected:
  bool is_frozen(const std::string& id) {
    const auto group = must(cgroup::Group::open(AT_FDCWD, directory_of(id) + "/work"));
    const bool said = property<bool>(id, "Frozen");
    EXPECT_EQ(must(group.events()).frozen, said) << id;
    return said;
  }
  void sleeper(const std::string& id, Dict options = {}) {
    start(id, {"sleep", "100"}, std::move(options));
  }
};

TEST_F(ServiceFreeze, StopsAllOfItUntilItIsThawed) {
  Pipe gate, output;
  start("a", shell("echo ready; read line; echo went on; exec sleep 100"),
        {{"StandardInput", gate.read_end()}, {"StandardOutput", output.write_end()}});
  gate.close_read();
  output.close_write();
  ASSERT_EQ(output.read(), "ready\n");
  EXPECT_FALSE(is_frozen("a"));
  must(client().freeze_run("a"));
  EXPECT_TRUE(is_frozen("a"));
  EXPECT_EQ(property("a", "State"), "running");
  gate.close_write();  // it may go on, and does not
  must(client().freeze_run("a"));
  EXPECT_TRUE(is_frozen("a")) << "a second call does nothing";
  must(client().thaw_run("a"));
  EXPECT_FALSE(is_frozen("a"));
  EXPECT_EQ(output.read(), "went on\n");
  must(client().thaw_run("a"));
  end("a");
}

TEST_F(ServiceFreeze, TakesThoseNestedInItAlong) {
  sleeper("outer");
  sleeper("inner", {{"Parent", std::string("outer")}});
  sleeper("innermost", {{"Parent", std::string("inner")}});
  must(client().freeze_run("inner"));
  EXPECT_FALSE(is_frozen("outer"));
  EXPECT_TRUE(is_frozen("inner"));
  EXPECT_TRUE(is_frozen("innermost"));
  must(client().thaw_run("outer"));
  EXPECT_FALSE(is_frozen("inner"));
  EXPECT_FALSE(is_frozen("innermost"));
  must(client().freeze_run("outer"));
  EXPECT_TRUE(is_frozen("innermost"));
  end("outer");
  EXPECT_EQ(property("innermost", "EndReason"), "parent-ended");
}

TEST_F(ServiceFreeze, OutlivesTheService) {
  sleeper("a");
  must(client().freeze_run("a"));
  stack_.restart_corrald();
  EXPECT_TRUE(is_frozen("a"));
  must(client().thaw_run("a"));
  EXPECT_FALSE(is_frozen("a"));
  end("a");
}

TEST_F(ServiceFreeze, IsRefusedFromInsideAndOfWhatIsNotThere) {
  sleeper("a");
  EXPECT_TRUE(inside(directory_of("a"), [](harness::Client& mine) {
    return error_of(mine.freeze_run("a")) == kCorral + "WouldKillCaller";
  }));
  EXPECT_FALSE(is_frozen("a"));
  EXPECT_EQ(error_of(client().freeze_run("a", {{"Invocation", std::string(32, '0')}})),
            kCorral + "InvocationMismatch");
  EXPECT_EQ(error_of(client().freeze_run("x")), kCorral + "NoSuchRun");
  end("a");
  EXPECT_EQ(error_of(client().freeze_run("a")), kCorral + "RunBusy");
  EXPECT_EQ(error_of(client().thaw_run("a")), kCorral + "RunBusy");
}

TEST_F(ServiceFreeze, IsRefusedOfARunThatIsEnding) {
  start_ready("a", stubborn({"--stay", "jobs", "1"}));
  must(client().end_run("a", {{"NoBlock", true}, {"GraceUSec", 600'000 * kMilliseconds}}));
  EXPECT_EQ(error_of(client().freeze_run("a")), kCorral + "RunBusy");
  end("a", {{"GraceUSec", uint64_t{0}}});
}

TEST_F(ServiceFreeze, WorksWhileTheServiceObserves) {
  must(client().set_enforcement("observe"));
  sleeper("a");
  must(client().freeze_run("a"));
  EXPECT_TRUE(is_frozen("a"));
  must(client().thaw_run("a"));
  EXPECT_FALSE(is_frozen("a"));
  must(client().set_enforcement("enforce"));
  end("a");
}

}  // namespace
}  // namespace corral::test
