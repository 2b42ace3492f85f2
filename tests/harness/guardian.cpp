#include "harness/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "harness/must.h"

namespace corral::harness {
namespace {

constexpr int kGuardedFd = STDERR_FILENO + 1;

// Leaves nothing open but the pidfd of the guarded process, now kGuardedFd: whoever reads from the
// test is to see its end.
void keep_only(int guarded) {
  (void)dup2(guarded, kGuardedFd);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) (void)dup2(nothing, fd);
  (void)close_range(kGuardedFd + 1, ~0U, 0);
}

[[noreturn]] void guard(int guarded, const std::function<void()>& work) {
  (void)setsid();  // an interrupt from the terminal is for the test
  keep_only(guarded);
  pollfd gone{kGuardedFd, POLLIN, 0};
  while (poll(&gone, 1, -1) < 0 && errno == EINTR) {
  }
  work();
  _exit(0);
}

cgroup::Pidfd start(const std::function<void()>& work) {
  const auto self = must(cgroup::Pidfd::open(getpid()));
  const pid_t pid = fork();
  if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (pid == 0) guard(self.fd(), work);
  return must(cgroup::Pidfd::open(pid));
}

}  // namespace

Guardian::Guardian(const std::function<void()>& work) : process_(start(work)) {}

Guardian::~Guardian() {
  (void)process_.signal(SIGKILL);  // our own child: there until it is reaped
  (void)waitpid(process_.pid(), nullptr, 0);
}

}  // namespace corral::harness
