#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/parse.h"
#include "daemon/config_file.h"
#include "daemon/configuration.h"
#include "daemon/setting.h"
#include "harness/temp_dir.h"

namespace corral::daemon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// A root's instance whose directories are "etc" and "lib" of the test's own.
class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* directory : {"etc", "lib"}) {
      instance_.directories.push_back({temp_ / directory});
      std::filesystem::create_directories(temp_ / directory + "/corral/corrald.conf.d");
    }
    instance_.state_directory = "/var/lib/corral";
    instance_.spawner_socket = "/run/corral/spawn.sock";
  }

  // Below the directory's corral/; gives the path.
  std::string write(const std::string& name, const std::string& text) const {
    const auto slash = name.find('/');
    const std::string path =
        temp_ / name.substr(0, slash) + "/corral/corrald.conf" + name.substr(slash + 1);
    std::ofstream(path) << text;
    return path;
  }
  Loaded loaded(const Given& given = {}) const { return load(instance_, given); }
  // The value and where it came from.
  static std::pair<std::string, std::string> shown(const Loaded& loaded, const std::string& key) {
    for (const auto& row : loaded.configuration.rows())
      if (row.key == key) return {row.value, row.source};
    return {};
  }

  harness::TempDir temp_;
  Instance instance_;
};
using Shown = std::pair<std::string, std::string>;

TEST_F(ConfigTest, HasTheDefaultsOfTheTableWithoutAFile) {
  const auto got = loaded();
  EXPECT_THAT(got.problems, IsEmpty());
  const auto rows = got.configuration.rows();
  ASSERT_THAT(rows, SizeIs(kSettings.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].key, kSettings.at(i).key);
    EXPECT_EQ(rows[i].value, kSettings.at(i).standard) << rows[i].key;
    EXPECT_EQ(rows[i].source, "default");
  }
  EXPECT_EQ(got.configuration.values().settle, 200ms);
  EXPECT_EQ(got.configuration.values().keep_reports_for, 24h * 7);
  EXPECT_EQ(got.configuration.values().runtime_max, std::nullopt);
}

TEST_F(ConfigTest, NamesTheLineOfEachValue) {
  const auto file =
      write("etc/", "# ours\n\n[Runs]\n  SettleSec = 1min 30s \r\n; no\n[Bounds]\nProofSec=3\n");
  const auto got = loaded();
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_EQ(shown(got, "SettleSec"), (Shown{"1min 30s", file + ":4"}));
  EXPECT_EQ(shown(got, "ProofSec"), (Shown{"3s", file + ":7"}));
  EXPECT_EQ(got.configuration.values().settle, 90s);
}

TEST_F(ConfigTest, ReadsTheFirstMainFileAndThenEveryDropInByName) {
  write("lib/", "[Runs]\nSettleSec=1s\nKeepReports=7\n");
  write("etc/", "[Runs]\nSettleSec=2s\nGraceSec=2s\n");
  const auto last = write("lib/.d/90-z.conf", "[Runs]\nGraceSec=9s\n");
  write("etc/.d/10-a.conf", "[Runs]\nGraceSec=1s\n");
  write("etc/.d/95-not", "[Runs]\nGraceSec=3s\n");
  write("etc/.d/.99-hidden.conf", "[Runs]\nGraceSec=4s\n");
  const auto got = loaded();
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_EQ(shown(got, "SettleSec").first, "2s");
  EXPECT_EQ(shown(got, "GraceSec"), (Shown{"9s", last + ":2"}));
  EXPECT_EQ(shown(got, "KeepReports"), (Shown{"1000", "default"}));
}

TEST_F(ConfigTest, PrefersADropInOfAnEarlierDirectoryToItsNamesake) {
  for (const char* name : {".d/10-a.conf", ".d/20-b.conf", ".d/30-c.conf"})
    write(std::string("lib/") + name, "[Runs]\nSettleSec=9s\nGraceSec=9s\nKeepReports=9\n");
  write("etc/.d/10-a.conf", "[Runs]\nSettleSec=1s\n");
  write("etc/.d/20-b.conf", "");
  std::filesystem::create_symlink("/dev/null", temp_ / "etc/corral/corrald.conf.d/30-c.conf");
  const auto got = loaded();
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_EQ(shown(got, "SettleSec").first, "1s");
  EXPECT_EQ(shown(got, "GraceSec").second, "default");
  EXPECT_EQ(shown(got, "KeepReports").second, "default");
}

TEST_F(ConfigTest, MasksTheMainFileByALinkToNothing) {
  write("lib/", "[Runs]\nSettleSec=9s\n");
  std::filesystem::create_symlink("/dev/null", temp_ / "etc/corral/corrald.conf");
  EXPECT_EQ(shown(loaded(), "SettleSec").second, "default");
}

TEST_F(ConfigTest, ResetsAKeyThatIsAssignedNothing) {
  write("etc/", "[Runs]\nSettleSec=9s\nKeepReportsSec=infinity\n");
  write("etc/.d/a.conf", "[Runs]\nSettleSec=\nKeepReportsSec= ; the usual\n");
  const auto got = loaded();
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_EQ(shown(got, "SettleSec"), (Shown{"200ms", "default"}));
  EXPECT_EQ(shown(got, "KeepReportsSec"), (Shown{"7d", "default"}));
}

TEST_F(ConfigTest, LetsTheCommandLineWin) {
  write("etc/", "[Service]\nStateDirectory=/a\nSpawnerSocket=/b\n");
  const auto got = loaded({.file = {}, .values = {{"StateDirectory", "/c"}}});
  EXPECT_EQ(shown(got, "StateDirectory"), (Shown{"/c", "command line"}));
  EXPECT_EQ(shown(got, "SpawnerSocket").first, "/b");
  EXPECT_THAT(loaded({.file = {}, .values = {{"StateDirectory", "c"}}}).problems,
              ElementsAre("command line: StateDirectory=c: not an absolute path"));
}

TEST_F(ConfigTest, ReadsAFileThatIsNamedAndItsDropInsAlone) {
  write("etc/", "[Runs]\nKeepReports=3\n");
  const std::string file = temp_ / "x.conf";
  std::filesystem::create_directory(file + ".d");
  std::ofstream(file) << "[Runs]\nSettleSec=1s\nGraceSec=1s\n";
  std::ofstream(file + ".d/a.conf") << "[Runs]\nGraceSec=2s\n";
  const auto got = loaded({.file = file, .values = {}});
  EXPECT_THAT(got.problems, IsEmpty());
  EXPECT_EQ(shown(got, "SettleSec"), (Shown{"1s", file + ":2"}));
  EXPECT_EQ(shown(got, "GraceSec"), (Shown{"2s", file + ".d/a.conf:2"}));
  EXPECT_EQ(shown(got, "KeepReports").second, "default");
  EXPECT_THAT(loaded({.file = temp_ / "none", .values = {}}).problems,
              ElementsAre("open " + temp_ / "none: No such file or directory"));
}

TEST_F(ConfigTest, PassesOverPlacesThatAreTheSystemsInAUsersInstance) {
  instance_.directories[1].own = false;
  write("lib/", "[Service]\nCgroupRoot=/sys/fs/cgroup/x\nStateDirectory=y\n[Runs]\nGraceSec=1s\n");
  write("etc/.d/a.conf", "[Service]\nSpawnerSocket=/own\n");
  const auto got = loaded();
  EXPECT_EQ(shown(got, "CgroupRoot").second, "default");
  EXPECT_EQ(shown(got, "GraceSec").first, "1s");
  EXPECT_EQ(shown(got, "SpawnerSocket").first, "/own");
  EXPECT_THAT(got.problems, ElementsAre(EndsWith(":3: StateDirectory=y: not an absolute path")));
}

TEST_F(ConfigTest, NamesFileAndLineOfEverythingThatIsWrong) {
  const auto file = write("etc/",
                          "SettleSec=1s\n"
                          "[Runs]\n"
                          "SettelSec=1s\n"
                          "SettleSec\n"
                          "[Nonsense]\n"
                          "SettleSec=1s\n"
                          "[Bounds]\n"
                          "SettleSec=1s\n"
                          "ProofSec: 3s\n"
                          "[Runs] x\n"
                          "Nothing=of it is looked at\n"
                          "[Bounds]\n"
                          "ReapSec=\xff\n"
                          "ReapSec=" +
                              std::string(200, '1') +
                              "\n"
                              "ReapSec=2s");
  const auto drop_in = write("etc/.d/a.conf", "[Runs]\nKeepReports=none\n");
  std::filesystem::create_symlink(temp_ / "none", temp_ / "lib/corral/corrald.conf.d/b.conf");
  const auto at = [&](int line, const std::string& text) {
    return AllOf(StartsWith(file + ":" + std::to_string(line) + ": "), HasSubstr(text));
  };
  const auto got = loaded();
  EXPECT_THAT(
      got.problems,
      ElementsAre(
          at(1, "SettleSec=: stands in no section"),
          at(3, "SettelSec=: unknown key; [Runs] has OnDriverExit, SettleSec, "),
          at(4, "\"SettleSec\": neither [Section] nor Key=value nor a comment"),
          at(5, "[Nonsense]: unknown section; there are [Service], [Runs], [Bounds]"),
          at(8, "SettleSec=: belongs into [Runs]"), at(9, "no = between key and value"),
          at(10, "\"[Runs] x\": neither"), at(13, "\"ReapSec=\\xff\": not UTF-8"),
          at(14, "longer than 190 bytes"),
          AllOf(StartsWith(drop_in + ":2: KeepReports=none: not a number; allowed: 1 to ")),
          AllOf(StartsWith("open " + temp_ / "lib"), EndsWith("No such file or directory"))));
  EXPECT_EQ(shown(got, "ReapSec"), (Shown{"2s", file + ":15"}));
}

TEST(Settings, TakeWhatIsInTheirRangeAndNothingElse) {
  const std::map<std::string, std::string> refused[] = {
      {{"SettleSec", "1h 1us"}, {"GraceSec", "-1"}, {"ProofSec", "249ms"}, {"FreezeSec", "0"}},
      {{"SettleSec", "infinity"}, {"GraceSec", "5x"}, {"ProofSec", "61s"}, {"FreezeSec", "soon"}},
      {{"RuntimeMaxSec", "0"}, {"HoldMaxSec", "Infinity"}, {"KeepReportsSec", "11y"}},
      {{"KeepReports", "0"}, {"OnDriverExit", "stay"}, {"Enforcement", "or"}, {"SpawnSec", "1ms"}},
      {{"KeepReports", "1000001"}, {"OnDriverExit", "freeze,"}, {"CgroupRoot", "sys"}},
      {{"KeepReports", "1k"}, {"StateDirectory", "~"}, {"SpawnerSocket", "@x"}}};
  const std::map<std::string, std::string> taken[] = {
      {{"SettleSec", "1h"}, {"GraceSec", "0"}, {"ProofSec", "250ms"}, {"FreezeSec", "1min"}},
      {{"RuntimeMaxSec", "2h"}, {"HoldMaxSec", "infinity"}, {"KeepReportsSec", "1y"}},
      {{"KeepReports", "1"}, {"OnDriverExit", "kill"}, {"Enforcement", "observe"}}};
  const auto tried = [](const std::string& key, const std::string& text) {
    Config config;
    for (const Setting& setting : kSettings)
      if (setting.key == key) return set(config, setting, text).has_value();
    return false;
  };
  for (const auto& row : refused)
    for (const auto& [key, text] : row) EXPECT_FALSE(tried(key, text)) << key << "=" << text;
  for (const auto& row : taken)
    for (const auto& [key, text] : row) EXPECT_TRUE(tried(key, text)) << key << "=" << text;
}

TEST(Settings, AreAFileThatSaysTheDefaults) {
  Instance instance;
  instance.state_directory = "/var/lib/corral";
  instance.spawner_socket = "/run/corral/spawn.sock";
  Configuration configuration(instance);
  std::vector<std::string> problems;
  const std::string text = settings_as_file();
  read_config({"f"}, text, configuration, problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(configuration.rows()[4].source, "default");  // every line of it is a comment
  std::string bare;
  for (const auto line : base::split(std::string_view(text), '\n'))
    bare += std::string(line.starts_with("#") && !line.starts_with("# ") ? line.substr(1) : line) +
            "\n";
  read_config({"f"}, bare, configuration, problems);
  EXPECT_THAT(problems, IsEmpty());
  for (const auto& row : configuration.rows())
    EXPECT_EQ(row.source.starts_with("f:"), !row.value.empty()) << row.key;
}

std::vector<std::string> paths(const Instance& instance) {
  std::vector<std::string> all;
  for (const auto& [path, own] : instance.directories)
    all.push_back((own ? "" : "not own: ") + path);
  return all;
}

TEST(Instance, OfRootIsTheSystems) {
  setenv("XDG_CONFIG_HOME", "/c", 1);
  const auto instance = Instance::of(0);
  EXPECT_THAT(paths(instance), ElementsAre("/etc", "/run", "/usr/local/lib", "/usr/lib"));
  EXPECT_EQ(instance.state_directory, "/var/lib/corral");
  EXPECT_EQ(instance.spawner_socket, "/run/corral/spawn.sock");
}

TEST(Instance, OfAUserReadsTheUsersFilesFirst) {
  setenv("HOME", "/home/u", 1);
  setenv("XDG_CONFIG_HOME", "relative", 1);
  setenv("XDG_STATE_HOME", "/s", 1);
  setenv("XDG_RUNTIME_DIR", "/r", 1);
  const auto instance = Instance::of(1000);
  EXPECT_THAT(paths(instance), ElementsAre("/home/u/.config", "not own: /etc", "not own: /run",
                                           "not own: /usr/local/lib", "not own: /usr/lib"));
  EXPECT_EQ(instance.state_directory, "/s/corral");
  EXPECT_EQ(instance.spawner_socket, "/r/corral/spawn.sock");
  setenv("XDG_CONFIG_HOME", "/c", 1);
  EXPECT_EQ(Instance::of(1000).directories.front().path, "/c");
}

TEST(ApplyDefaults, FillsThePolicyOfAStart) {
  Instance instance;
  instance.state_directory = instance.spawner_socket = "/x";
  Configuration configuration(instance);
  ASSERT_TRUE(configuration.assign(*find_setting("Runs", "SettleSec"), "7s", "f:1"));
  ASSERT_TRUE(configuration.assign(*find_setting("Runs", "GraceSec"), "8s", "f:2"));
  run::Policy policy;
  apply_defaults(policy, configuration.values());
  EXPECT_EQ(policy.settle, 7s);
  EXPECT_EQ(policy.grace, 8s);
  EXPECT_EQ(policy.on_driver_exit, run::OnDriverExit::kill);
}

}  // namespace
}  // namespace corral::daemon
