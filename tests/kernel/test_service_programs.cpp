#include <filesystem>
#include <fstream>

#include "service_test.h"

namespace corral::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Pair;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

// What people's runs really leave behind. Every program has its home, its sockets and its buses in
// the directory of the test, so that none of the user's own is met.
class ServicePrograms : public ServiceTest {
 protected:
  ServicePrograms() {
    std::filesystem::create_directory(home_);
    std::filesystem::permissions(home_, std::filesystem::perms::owner_all);  // or gpg-agent warns
  }

  Dict privately(Dict options = {}) const {
    options.emplace("Environment",
                    std::vector<std::string>{
                        "PATH=/usr/bin:/bin", "HOME=" + home_, "GNUPGHOME=" + home_,
                        "TMUX_TMPDIR=" + home_, "TMPDIR=" + home_, "XDG_RUNTIME_DIR=" + home_,
                        "DBUS_SESSION_BUS_ADDRESS=disabled:", "DBUS_SYSTEM_BUS_ADDRESS=disabled:"});
    options.emplace("WorkingDirectory", home_);
    return options;
  }

  // The report of a run whose driver executes `script` and exits. All that is in the run before
  // that is seen to be gone after its end.
  Dict left_by(const std::string& script, const Command& arguments = {}) {
    Pipe gate;
    start_ready("a", shell("set -e; " + script + "\necho ready; read line || exit 0", arguments),
                privately({{"StandardInput", gate.read_end()}}));
    gate.close_read();
    const auto held = pidfds("a");
    gate.close_write();
    auto report = ended("a");
    for (const auto& process : held) EXPECT_TRUE(process.exited()) << process.pid();
    EXPECT_EQ(exit_of(report), (Exit{"success", "exited", 0}));
    EXPECT_EQ(counts(report).found + 1, held.size()) << "the driver is no leak";
    return report;
  }

  // The program of each leak, with its listening sockets.
  using Sockets = std::vector<std::string>;
  using Named = std::pair<std::string, Sockets>;
  static std::vector<Named> sockets(const Dict& report) {
    std::vector<Named> named;
    for (const Dict& row : leaks(report)) {
      const std::filesystem::path exe = value<std::string>(row, "Exe");
      named.emplace_back(exe.filename(), value<Sockets>(row, "Listening"));
    }
    return named;
  }
  std::string unix_socket(const std::string& name) const { return "unix:" + home_ + "/" + name; }

  std::string home_ = stack_.temp() / "home";
};

TEST_F(ServicePrograms, AGpgAgentIsALeakWithItsSockets) {
  const auto report = left_by("gpg-agent --daemon >/dev/null");
  EXPECT_THAT(sockets(report), UnorderedElementsAre(Pair(
                                   "gpg-agent", IsSupersetOf({unix_socket("S.gpg-agent"),
                                                              unix_socket("S.gpg-agent.extra")}))));
}

TEST_F(ServicePrograms, AnSshAgentIsALeakWithItsSocket) {
  const auto report = left_by("ssh-agent -a agent >/dev/null");
  EXPECT_THAT(sockets(report),
              UnorderedElementsAre(Pair("ssh-agent", UnorderedElementsAre("unix:agent"))));
}

TEST_F(ServicePrograms, ATmuxServerIsALeakWithItsSocketAndWhatRunsInIt) {
  const auto report = left_by("tmux -L private -f /dev/null new -d 'exec sleep 100'");
  const std::string socket = unix_socket("tmux-" + std::to_string(getuid()) + "/private");
  EXPECT_THAT(sockets(report), UnorderedElementsAre(Pair("tmux", UnorderedElementsAre(socket)),
                                                    Pair("sleep", IsEmpty())));
  EXPECT_THAT(column(leaks(report), "Comm"), UnorderedElementsAre("tmux: server", "sleep"));
}

TEST_F(ServicePrograms, AMessageBusIsALeakWithItsSocket) {
  const auto report =
      left_by("dbus-daemon --session --fork --nopidfile --address=unix:path=\"$HOME\"/bus");
  EXPECT_THAT(sockets(report),
              UnorderedElementsAre(Pair("dbus-daemon", UnorderedElementsAre(unix_socket("bus")))));
}

// As a task runner starts development servers: in groups of their own, and waits for none.
constexpr const char* kLauncher = R"(
const server = `require("http").createServer((_, answer) => answer.end())
    .listen(0, "127.0.0.1", function () { process.send(this.address().port) })`;
for (let i = 0; i < 3; ++i) {
  const child = require("child_process").spawn(process.execPath, ["-e", server],
      {detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"]});
  child.once("message", port => {
    require("fs").appendFileSync("ports", port + "\n");
    child.disconnect();
    child.unref();
  });
}
)";

TEST_F(ServicePrograms, DetachedServersOfNodeAreLeaksWithTheirPorts) {
  const auto report = left_by("node -e \"$0\"", {kLauncher});
  std::vector<Named> wanted;
  std::ifstream ports(home_ + "/ports");
  for (std::string port; ports >> port;) wanted.push_back(Named{"node", {"tcp:127.0.0.1:" + port}});
  EXPECT_EQ(wanted.size(), 3U);
  EXPECT_THAT(sockets(report), UnorderedElementsAreArray(wanted));
  EXPECT_THAT(column(leaks(report), "Detached"), testing::Each("own-session"));
}

class ServiceBrowser : public ServicePrograms {
 protected:
  // Of --type=TYPE, in whichever way the process wrote its own command line.
  static bool is_of_type(const Dict& row, const std::string& type) {
    std::string line;
    for (const auto& argument : value<std::vector<std::string>>(row, "Argv"))
      line += argument + " ";
    return line.find("--type=" + type + " ") != std::string::npos;
  }
  static std::vector<uint32_t> pids(const std::vector<Dict>& rows, const std::string& type) {
    std::vector<uint32_t> found;
    for (const Dict& row : rows)
      if (is_of_type(row, type)) found.push_back(value<uint32_t>(row, "PID"));
    return found;
  }
  // Together: a renderer is a zygote until it has rewritten its command line.
  static std::vector<uint32_t> zygotes_and_renderers(const std::vector<Dict>& rows) {
    auto found = pids(rows, "zygote");
    for (const auto pid : pids(rows, "renderer")) found.push_back(pid);
    return found;
  }
  static bool listens(const Dict& row, const std::string& socket) {
    return std::ranges::count(value<Sockets>(row, "Listening"), socket) > 0;
  }
  // "tcp:127.0.0.1:PORT", "" as long as the browser has not written it down.
  std::string debugging_port() const {
    std::ifstream file(home_ + "/profile/DevToolsActivePort");
    std::string port;
    return file >> port ? "tcp:127.0.0.1:" + port : "";
  }
};

TEST_F(ServiceBrowser, IsNamedWithZygotesAndRenderersAndGoneWhenItsDriverWasKilled) {
  start_ready(
      "a",
      shell("chromium --headless --no-sandbox --no-first-run --disable-background-networking "
            "--disable-component-update --remote-debugging-port=0 "
            "--user-data-dir=\"$HOME\"/profile about:blank >/dev/null 2>&1 & echo ready; wait"),
      privately());
  const auto is_up = [&] {
    const auto rows = processes("a");
    return !pids(rows, "zygote").empty() && !pids(rows, "renderer").empty() &&
           std::ranges::any_of(rows,
                               [&](const Dict& row) { return listens(row, debugging_port()); });
  };
  ASSERT_TRUE(eventually(is_up));
  const auto port = debugging_port();
  const auto before = processes("a");
  const auto driver = property<uint32_t>("a", "DriverPID");
  const auto steady = zygotes_and_renderers(before);  // others come and go
  std::vector<cgroup::Pidfd> held;
  for (const auto pid : steady) held.push_back(must(cgroup::Pidfd::open(static_cast<pid_t>(pid))));

  must(client().signal_run("a", "driver", SIGKILL));
  const auto report = ended("a");
  for (const auto& process : held) EXPECT_TRUE(process.exited()) << process.pid();
  EXPECT_EQ(exit_of(report), (Exit{"signal", "killed", SIGKILL}));

  const auto rows = leaks(report);
  EXPECT_EQ(counts(report).found, rows.size());
  EXPECT_THAT(zygotes_and_renderers(rows), IsSupersetOf(steady));
  EXPECT_TRUE(listens(rows.front(), port));
  for (const Dict& row : rows) {
    EXPECT_NE(value<uint32_t>(row, "PID"), driver);
    EXPECT_THAT(value<std::string>(row, "Comm") + value<std::string>(row, "Exe"),
                HasSubstr("chrom"));
  }
}

}  // namespace
}  // namespace corral::test
