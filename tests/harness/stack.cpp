#include "harness/stack.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "cgroup/processes.h"

namespace corral::harness {
namespace {

// No limit is raised over those of a system bus: what fits here fits there.
constexpr const char* kBusConfig = R"(<busconfig>
  <type>custom</type>
  <listen>unix:path=@</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
    <allow user="*"/>
  </policy>
</busconfig>
)";

[[noreturn]] void give_up(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::vector<std::string> joined(std::vector<std::string> first,
                                const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A pipe through which a child says once that it is ready. Its write end must not stay with us, or
// the end of the child would go unnoticed.
struct ReadyPipe {
  UniqueFd read, write;
  ReadyPipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) give_up("pipe2");
    read = UniqueFd(ends[0]);
    write = UniqueFd(ends[1]);
  }
  // False where the child closed it without a word, or at the deadline.
  bool wait() {
    write.reset();
    pollfd readable{read.get(), POLLIN, 0};
    char byte = 0;
    return poll(&readable, 1, static_cast<int>(kDeadline.count())) == 1 &&
           ::read(read.get(), &byte, 1) == 1;
  }
};

UniqueFd notify_socket(const std::string& path) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  if (!socket || bind(socket.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) {
    give_up("bind " + path);
  }
  return socket;
}

}  // namespace

std::string corrald_path() {
  return CORRAL_BIN "/corrald";
}
std::string corralctl_path() {
  return CORRAL_BIN "/corralctl";
}
std::string corral_init_path() {
  return CORRAL_BIN "/corral-init";
}

Stack::Stack(StackOptions options)
    : options_(std::move(options)),
      service_(scratch_.make("service")),
      address_("unix:path=" + temp_ / "bus"),
      notify_(notify_socket(temp_ / "notify")) {
  (void)scratch_.make("root");
  std::filesystem::create_directory(state_dir());
  std::string config = kBusConfig;
  config.replace(config.find('@'), 1, temp_ / "bus");
  std::ofstream(temp_ / "bus.conf") << config;
  if (!options_.start) return;
  start_bus();
  start_spawner();
  start_corrald();
}

Stack::~Stack() {
  try {
    if (check_at_end_) expect_nothing_left();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "while looking for what is left: " << error.what();
  }
  if (testing::Test::HasFailure()) std::cerr << "--- log of the service\n" << log() << "---\n";
}

void Stack::start_bus() {
  std::filesystem::remove(temp_ / "bus");
  ReadyPipe ready;
  bus_.emplace(Command{.argv = {"dbus-daemon", "--nofork", "--config-file=" + temp_ / "bus.conf",
                                "--print-address=" + std::to_string(ready.write.get())},
                       .log = temp_ / "bus.log",
                       .group = service_.fd(),
                       .inherit = ready.write.get()});
  if (!ready.wait())
    throw std::runtime_error("dbus-daemon does not start: " + slurp(temp_ / "bus.log"));
}

void Stack::kill_bus() {
  client_.reset();
  bus_.reset();
}

void Stack::start_spawner() {
  ReadyPipe ready;
  spawner_.emplace(Command{
      .argv = joined(options_.spawner_wrapper, {corral_init_path(), "--spawn", spawner_socket(),
                                                "--ready-fd=" + std::to_string(ready.write.get())}),
      .environment = options_.spawner_environment,
      .log = temp_ / "log",
      .group = service_.fd(),
      .inherit = ready.write.get()});
  if (!ready.wait()) throw std::runtime_error("the spawner does not start: " + log());
}

void Stack::kill_spawner() {
  spawner_.reset();
}

void Stack::spawn_corrald() {
  const std::vector<std::string> command = {
      corrald_path(),
      // Not this machine's; the last one given counts.
      "--config=/dev/null", "--bus=" + address_, "--cgroup-root=" + root(),
      "--spawner=" + spawner_socket(), "--state-dir=" + state_dir()};
  corrald_.emplace(Command{
      .argv = joined(joined(options_.corrald_wrapper, command), options_.corrald_arguments),
      .environment = joined({"NOTIFY_SOCKET=" + temp_ / "notify"}, options_.corrald_environment),
      .log = temp_ / "log",
      .group = service_.fd()});
}

void Stack::start_corrald() {
  char stale[4096];
  while (recv(notify_.get(), stale, sizeof stale, 0) >= 0) {
  }
  spawn_corrald();
  if (!wait_ready()) throw std::runtime_error("corrald does not start: " + log());
  if (idle_fds_ != 0) return;
  // The bus library keeps two fds more from the first dictionary on.
  must(Client(address_).list_runs({{"All", true}}));
  idle_fds_ = open_fds();
}

std::optional<int> Stack::start_corrald_expecting_exit() {
  spawn_corrald();
  return corrald_->wait(kDeadline);
}

// Each message of sd_notify(3) is lines of NAME=value.
bool Stack::wait_ready() {
  for (;;) {
    pollfd events[] = {{notify_.get(), POLLIN, 0}, {corrald_->pidfd().fd(), POLLIN, 0}};
    if (poll(events, 2, static_cast<int>(kDeadline.count())) <= 0) return false;
    char message[4096];
    const ssize_t length = recv(notify_.get(), message, sizeof message, 0);
    if (length < 0) return false;  // nothing there: it was the exit
    std::istringstream lines(std::string(message, static_cast<size_t>(length)));
    for (std::string line; std::getline(lines, line);) {
      if (line == "READY=1") return true;
    }
  }
}

void Stack::kill_corrald() {
  corrald_->kill();
}

std::optional<int> Stack::stop_corrald() {
  corrald_->signal(SIGTERM);
  return corrald_->wait(kDeadline);
}

pid_t Stack::corrald_pid() const {
  return corrald_.value().pid();
}
pid_t Stack::spawner_pid() const {
  return spawner_.value().pid();
}

Client& Stack::client() {
  if (!client_) client_ = std::make_unique<Client>(address_);
  return *client_;
}

std::string Stack::log() const {
  return slurp(temp_ / "log");
}

std::vector<pid_t> Stack::processes() const {
  std::vector<pid_t> pids;
  const auto group = must(cgroup::Group::open(AT_FDCWD, root()));
  for (const auto& member : must(cgroup::members(group))) pids.push_back(member.pid);
  return pids;
}

size_t Stack::open_fds() const {
  const std::string process = "/proc/" + std::to_string(corrald_pid());
  const std::string of_this_process = "\nPid:\t" + std::to_string(getpid()) + "\n";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
    // A pidfd of the test is the service's knowledge of who calls, bounded and kept on purpose.
    const auto info =
        base::read_at(AT_FDCWD, process + "/fdinfo/" + entry.path().filename().string());
    if (info && info->find(of_this_process) == std::string::npos) ++count;
  }
  return count;
}

void Stack::expect_nothing_left() {
  check_at_end_ = false;
  const auto bound = std::chrono::seconds{5};
  EXPECT_TRUE(eventually(bound, [&] { return processes().empty(); }))
      << "processes of a run are left: " << testing::PrintToString(processes());
  EXPECT_TRUE(eventually(bound, [&] { return directories_below(runs()).empty(); }))
      << "directories of a run are left: " << testing::PrintToString(directories_below(runs()));
  if (!corrald_ || corrald_->pidfd().exited()) return;
  // The service forgets callers that have exited when the next one comes.
  (void)Client(address_).list_runs();
  EXPECT_TRUE(eventually(bound, [&] { return open_fds() <= idle_fds_; }))
      << "corrald holds " << open_fds() << " fds, and held " << idle_fds_ << " when it was idle";
}

}  // namespace corral::harness
