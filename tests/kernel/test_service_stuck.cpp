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

}  // namespace
}  // namespace corral::test
