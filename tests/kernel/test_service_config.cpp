#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "service_test.h"

namespace corral::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The service with a corrald.conf of the test's own.
class ServiceConfig : public ServiceTest {
 protected:
  ServiceConfig() { stack_.options().corrald_arguments = {"--config=" + file()}; }

  std::string file() const { return stack_.temp() / "corrald.conf"; }
  void restart_with(const std::string& text) {
    std::ofstream(file()) << text;
    stack_.restart_corrald();
  }
  std::string read(const std::string& name) const {
    return must(base::read_at(AT_FDCWD, stack_.temp() / name));
  }
  // What corralctl writes.
  std::string corralctl(std::vector<std::string> words) const {
    words.insert(words.begin(), {harness::corralctl_path(), "--bus", stack_.address()});
    const std::string log = stack_.temp() / "corralctl";
    std::filesystem::remove(log);
    harness::Child child({.argv = words, .log = log});
    EXPECT_EQ(child.wait(harness::kDeadline), 0);
    return read("corralctl");
  }
};

TEST_F(ServiceConfig, GivesARunItsGraceAndSettleTimeUnlessTheCallerDoes) {
  restart_with("[Runs]\nSettleSec=0\nGraceSec=300ms\n");
  const auto report = run(stubborn({"ignore-term"}));
  EXPECT_EQ(counts(report), (Counts{1, 0, 1}));
  const auto lasted = value<uint64_t>(report, "EndTimestampMonotonic") -
                      value<uint64_t>(report, "DriverExitTimestampMonotonic");
  EXPECT_GE(lasted, 300 * kMilliseconds);
  EXPECT_LT(lasted, 3'000 * kMilliseconds);  // the default is 5 s
  EXPECT_EQ(property<uint64_t>("a", "SettleUSec"), 0u);
  start("b", {"sleep", "600"}, {{"GraceUSec", 400 * kMilliseconds}});
  EXPECT_EQ(property<uint64_t>("b", "GraceUSec"), 400 * kMilliseconds);
  EXPECT_EQ(property<uint64_t>("b", "SettleUSec"), 0u);
  end("b");
}

TEST_F(ServiceConfig, IsShownWithTheSourceOfEachValue) {
  std::filesystem::create_directory(file() + ".d");
  std::ofstream(file() + ".d/50-proof.conf") << "[Bounds]\nProofSec=1500ms\n";
  restart_with("[Runs]\nGraceSec=90\n");
  std::map<std::string, harness::SettingRow> rows;
  for (const auto& row : must(client().get_configuration())) rows[row.key] = row;
  EXPECT_EQ(rows["GraceSec"].section, "Runs");
  EXPECT_EQ(rows["GraceSec"].value, "1min 30s");
  EXPECT_EQ(rows["GraceSec"].source, file() + ":2");
  EXPECT_EQ(rows["ProofSec"].value, "1s 500ms");
  EXPECT_EQ(rows["ProofSec"].source, file() + ".d/50-proof.conf:2");
  EXPECT_EQ(rows["SettleSec"].source, "default");
  EXPECT_EQ(rows["CgroupRoot"].value, stack_.root());
  EXPECT_EQ(rows["CgroupRoot"].source, "command line");

  EXPECT_THAT(corralctl({"config"}),
              testing::ContainsRegex("\nGraceSec +1min 30s +" + file() + ":2\n"));
  const auto shown = nlohmann::json::parse(corralctl({"config", "--json=short"}));
  EXPECT_THAT(shown, testing::Contains(nlohmann::json{{"Section", "Runs"},
                                                      {"Key", "GraceSec"},
                                                      {"Value", "1min 30s"},
                                                      {"Source", file() + ":2"}}));
}

TEST_F(ServiceConfig, StopsTheServiceWithEveryLineThatIsWrong) {
  stack_.kill_corrald();
  std::ofstream(file()) << "[Runs]\nGraceSecs=1\nSettleSec=long\nKeepReports=5\n";
  const auto status = stack_.start_corrald_expecting_exit();
  ASSERT_TRUE(status && WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 78);
  EXPECT_THAT(stack_.log(), AllOf(HasSubstr(file() + ":2: GraceSecs=: unknown key"),
                                  HasSubstr(file() + ":3: SettleSec=long: not a time span"),
                                  Not(HasSubstr(file() + ":4:"))));
  std::ofstream(file()) << "[Runs]\nGraceSec=1\n";
  stack_.start_corrald();
}

TEST_F(ServiceConfig, IsTestedWithoutStartingTheService) {
  const auto status = [&](const std::string& text) {
    std::ofstream(file()) << text;
    harness::Child child({.argv = {harness::corrald_path(), "--config=" + file(), "--test-config"},
                          .log = stack_.temp() / "tested"});
    return child.wait(harness::kDeadline);
  };
  EXPECT_EQ(status("[Runs]\nGraceSec=1s\n"), 0);
  EXPECT_EQ(read("tested"), "");
  EXPECT_EQ(status("GraceSec=1s\n"), W_EXITCODE(78, 0));
  EXPECT_THAT(read("tested"), HasSubstr(file() + ":1: GraceSec=: stands in no section"));
}

TEST_F(ServiceConfig, KeepsAsManyReportsAsItSays) {
  restart_with("[Runs]\nKeepReports=1\n");
  for (const char* id : {"a", "b", "c"}) {
    start(id, {"true"});
    ended(id);
  }
  EXPECT_TRUE(eventually([&] { return must(client().list_runs({{"All", true}})).size() == 1; }));
  EXPECT_EQ(must(client().list_runs({{"All", true}}))[0].id, "c");
}

}  // namespace
}  // namespace corral::test
