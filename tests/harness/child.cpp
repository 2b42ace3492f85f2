#include "harness/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

#include "base/unique_fd.h"
#include "harness/must.h"

extern char** environ;

namespace corral::harness {
namespace {

constexpr int kExecFailed = 127;

// Everything the child needs between fork and exec, made before: only async-signal-safe work there.
struct Prepared {
  std::vector<std::string> environment;
  std::vector<char*> argv, envp;
  UniqueFd procs, log;
};

std::vector<std::string> merged_environment(const std::vector<std::string>& extra) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('=') + 1);
    bool overridden = false;
    for (const std::string& other : extra) overridden = overridden || other.starts_with(name);
    if (!overridden) merged.push_back(text);
  }
  merged.insert(merged.end(), extra.begin(), extra.end());
  return merged;
}

Prepared prepare(const Command& command) {
  Prepared made;
  made.environment = merged_environment(command.environment);
  for (const std::string& entry : made.environment) {
    made.envp.push_back(const_cast<char*>(entry.c_str()));
  }
  for (const std::string& argument : command.argv) {
    made.argv.push_back(const_cast<char*>(argument.c_str()));
  }
  made.envp.push_back(nullptr);
  made.argv.push_back(nullptr);
  if (command.group >= 0) {
    made.procs = UniqueFd(openat(command.group, "cgroup.procs", O_WRONLY | O_CLOEXEC));
    if (!made.procs) throw std::system_error(errno, std::generic_category(), "open cgroup.procs");
  }
  if (!command.log.empty()) {
    made.log = UniqueFd(open(command.log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    if (!made.log) throw std::system_error(errno, std::generic_category(), "open " + command.log);
  }
  return made;
}

[[noreturn]] void become(const Prepared& made, int inherit) {
  if (made.procs && write(made.procs.get(), "0", 1) != 1) _exit(kExecFailed);
  if (made.log) {
    (void)dup2(made.log.get(), STDOUT_FILENO);
    (void)dup2(made.log.get(), STDERR_FILENO);
  }
  if (inherit >= 0) (void)fcntl(inherit, F_SETFD, 0);
  execvpe(made.argv[0], made.argv.data(), made.envp.data());
  _exit(kExecFailed);
}

cgroup::Pidfd start(const Command& command) {
  const Prepared made = prepare(command);
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) become(made, command.inherit);
  return must(cgroup::Pidfd::open(pid));
}

}  // namespace

Child::Child(const Command& command) : pidfd_(start(command)) {}

Child::Child(Child&& other) noexcept
    : pidfd_(std::move(other.pidfd_)), status_(std::exchange(other.status_, 0)) {}

Child::~Child() {
  kill();
}

void Child::signal(int number) const {
  if (!status_) (void)pidfd_.signal(number);  // may be gone already
}

std::optional<int> Child::wait(std::chrono::milliseconds deadline) {
  if (status_) return status_;
  pollfd exited{pidfd_.fd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&exited, 1, static_cast<int>(deadline.count()));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  int status = 0;
  if (waitpid(pid(), &status, 0) == pid()) status_ = status;
  return status_;
}

void Child::kill() {
  signal(SIGKILL);
  (void)wait(std::chrono::seconds{20});
}

}  // namespace corral::harness
