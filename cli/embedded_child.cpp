#include "cli/embedded_child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace corral::cli {
namespace {

using std::chrono::milliseconds;

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  // posix_spawn(3) takes char* and changes nothing.
  for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

// The surroundings of a daemon: no signal blocked or ignored, a session of its own, its outputs in
// the log. Every other fd of ours is close-on-exec.
class SpawnPlan {
 public:
  explicit SpawnPlan(const ChildCommand& command) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, command.log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
    if (command.ready_fd >= 0)
      posix_spawn_file_actions_adddup2(&actions_, command.ready_fd, EmbeddedChild::kReadyFd);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

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

}  // namespace

Result<EmbeddedChild> EmbeddedChild::start(const ChildCommand& command) {
  const SpawnPlan plan(command);
  const auto argv = pointers(command.argv);
  const auto environment = pointers(command.environment);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], plan.actions(), plan.attributes(), argv.data(),
                                environment.data());
  if (error != 0)
    return failed(error, fmt::format("start {}: exec \"{}\"", command.name, command.argv.front()));
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
