#include "cli/parked_child.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "cgroup/clone.h"
#include "cli/exit_status.h"

namespace corral::cli {
namespace {

// The child's words on the channel. Its end without one after "go": executed, or killed.
enum Word : int { kAlive, kNoDirectory, kNoExec };
struct Said {
  Word word;
  int error;
};

// All that the child needs, made before it is born.
struct Prepared {
  std::vector<char*> argv, environment;
  const char* directory;
  int ours, theirs;  // the ends of the channel
  const HeldSignals& signals;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  // execvp(3) takes char* and changes nothing.
  for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

void say(int channel, Word word, int error = 0) {
  const Said said{word, error};
  (void)send(channel, &said, sizeof said, MSG_NOSIGNAL);  // nobody listens: nobody waits for it
}

// In the child. Every descriptor of ours is close-on-exec; what it inherits is the caller's.
int park_and_execute(const Prepared& prepared) {
  (void)close(prepared.ours);  // or our own copy would hide the parent's end
  say(prepared.theirs, kAlive);
  char go = 0;
  if (recv(prepared.theirs, &go, sizeof go, 0) != 1) return kOwnFailure;
  if (*prepared.directory != '\0' && chdir(prepared.directory) != 0) {
    say(prepared.theirs, kNoDirectory, errno);
    return kOwnFailure;
  }
  environ = const_cast<char**>(prepared.environment.data());
  prepared.signals.restore();  // what came while it was parked takes effect here
  (void)execvp(prepared.argv[0], prepared.argv.data());
  const int error = errno;
  say(prepared.theirs, kNoExec, error);
  return error == ENOENT ? kNotFound : kCannotExecute;
}

Result<cgroup::Pidfd> bear_process(const cgroup::Group* group, const Prepared& prepared) {
  if (group != nullptr)
    return cgroup::clone_into(*group, [&] { return park_and_execute(prepared); });
  const pid_t pid = fork();
  if (pid == 0) _exit(park_and_execute(prepared));
  if (pid < 0) return failed(errno, "fork");
  return cgroup::Pidfd::open(pid);  // ours and not reaped: the number is still its
}

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
}

}  // namespace

Result<ParkedChild> ParkedChild::bear_once(const cgroup::Group* group, const ChildPlan& plan,
                                           const HeldSignals& signals) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return failed(errno, "make a socket pair");
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  const Prepared prepared{pointers(plan.argv),    pointers(plan.environment),
                          plan.directory.c_str(), ours.get(),
                          theirs.get(),           signals};
  auto process = bear_process(group, prepared);
  if (!process) return process.error();
  return ParkedChild(std::move(ours), std::move(*process), plan);
}

// Waits for its first word; false where it was killed at its birth, and reaped.
bool ParkedChild::lives() const {
  Said said{};
  ssize_t length = 0;
  do length = recv(channel_.get(), &said, sizeof said, 0);
  while (length < 0 && errno == EINTR);
  if (length == sizeof said) return true;
  reap(pid());
  return false;
}

Result<ParkedChild> ParkedChild::bear(const cgroup::Group* group, const ChildPlan& plan,
                                      const HeldSignals& signals) {
  if (group != nullptr) {
    auto child = bear_once(group, plan, signals);
    if (child && child->lives()) return child;
  }
  auto child = bear_once(nullptr, plan, signals);
  if (child && !child->lives()) return failed(ECANCELED, "fork: the child was killed at its birth");
  return child;
}

void ParkedChild::release() const {
  (void)send(channel_.get(), "", 1, MSG_NOSIGNAL);
}

void ParkedChild::abandon() {
  channel_.reset();
  reap(pid());
}

std::optional<Error> ParkedChild::failure() {
  Said said{};
  ssize_t length = 0;
  do length = recv(channel_.get(), &said, sizeof said, 0);
  while (length < 0 && errno == EINTR);
  channel_.reset();
  if (length != sizeof said) return std::nullopt;
  return failed(said.error, said.word == kNoDirectory ? "change to " + directory_ : command_);
}

}  // namespace corral::cli
