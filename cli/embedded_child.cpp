#include "cli/embedded_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/parse.h"

namespace corral::cli {
namespace {

using std::chrono::milliseconds;

constexpr size_t kShownLog = 2'000;  // bytes
// dbus-daemon says so at each start where it may not raise its limit, and goes on.
constexpr std::string_view kHarmless = "Failed to set fd limit";

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  // execve(2) takes char* and changes nothing.
  for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

// No signal blocked or ignored: both would be inherited, and the parent's are its own affair.
void reset_signals() {
  for (int number = 1; number < NSIG; ++number)
    (void)std::signal(number, SIG_DFL);  // SIGKILL fails
  sigset_t none;
  sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The surroundings of a daemon. Every other fd of ours is close-on-exec.
void set_streams(const ChildCommand& command) {
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log = open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  (void)dup2(null, STDIN_FILENO);
  (void)dup2(log, STDOUT_FILENO);
  (void)dup2(log, STDERR_FILENO);
  if (command.ready_fd == EmbeddedChild::kReadyFd)
    (void)fcntl(command.ready_fd, F_SETFD, 0);
  else if (command.ready_fd >= 0)
    (void)dup2(command.ready_fd, EmbeddedChild::kReadyFd);
}

[[noreturn]] void become(const ChildCommand& command, pid_t parent) {
  (void)setsid();  // cannot fail in a fork, which leads no process group
  reset_signals();
  set_streams(command);
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(EXIT_FAILURE);  // it died before it could be said
  const auto argv = pointers(command.argv);
  const auto environment = pointers(command.environment);
  execve(argv[0], argv.data(), environment.data());
  (void)dprintf(STDERR_FILENO, "exec \"%s\": %s\n", argv[0], strerror(errno));
  _exit(EXIT_FAILURE);
}

}  // namespace

bool wait_exit(int pidfd, milliseconds bound) {
  pollfd exit{pidfd, POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + bound;
  for (;;) {
    const auto left =
        std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    const int count = poll(&exit, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (count > 0 || left <= 0) return count > 0;
  }
}

Error with_log(const std::string& what, const std::string& log) {
  const auto read = base::read_at(AT_FDCWD, log);
  const std::string_view text = read ? base::trimmed(*read) : std::string_view();
  const size_t skipped = text.size() > kShownLog ? text.size() - kShownLog : 0;
  std::string shown;
  for (const auto line : base::split(text.substr(skipped), '\n'))
    if (!line.empty() && line.find(kHarmless) == line.npos)
      shown += (shown.empty() ? "" : "; ") + std::string(line);
  return Error{shown.empty() ? what : what + ": " + shown, 0};
}

Result<EmbeddedChild> EmbeddedChild::start(const ChildCommand& command) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return failed(errno, fmt::format("start {}: fork", command.name));
  if (pid == 0) become(command, parent);
  auto pidfd = cgroup::Pidfd::open(pid);  // ours and not reaped: the number is still its
  if (pidfd) return EmbeddedChild(command.name, std::move(*pidfd));
  (void)kill(pid, SIGKILL);
  (void)waitpid(pid, nullptr, 0);
  return pidfd.error();
}

EmbeddedChild::~EmbeddedChild() {
  stop(milliseconds{0});
}

void EmbeddedChild::stop(milliseconds bound) {
  if (fd() < 0) return;
  // Either may fail: it is gone already.
  if (bound.count() > 0) (void)pidfd_.signal(SIGTERM);
  if (!wait_exit(fd(), bound)) (void)pidfd_.signal(SIGKILL);
  siginfo_t info{};
  while (waitid(P_PIDFD, static_cast<id_t>(fd()), &info, WEXITED) != 0 && errno == EINTR) continue;
  pidfd_ = cgroup::Pidfd::adopt(UniqueFd(), 0);
}

bool wait_readable(int fd, const EmbeddedChild& child, milliseconds bound) {
  pollfd fds[] = {{fd, POLLIN, 0}, {child.fd(), POLLIN, 0}};
  int count = 0;
  do count = poll(fds, 2, static_cast<int>(bound.count()));
  while (count < 0 && errno == EINTR);
  return count > 0 && (fds[0].revents & POLLIN) != 0;
}

}  // namespace corral::cli
