#include "cli/group_witness.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "cgroup/proc_stat.h"

namespace corral::cli {
namespace {

enum Kind : int { kGot, kForget, kForgetStops, kWatch };

struct Question {
  uint32_t serial;
  int kind;
  int value;  // a signal; a pid
};
struct Answer {
  uint32_t serial;
  bool got;
};

constexpr timespec kGroupBound{0, 20'000'000};  // from one member of a group to the last
// For the answer: a witness that was stopped gives none, one that has no processor a late one.
constexpr int kAnswerBound = 1'000;                    // ms
constexpr int kFirstPeriod = 100, kLastPeriod = 1000;  // ms

// What follows runs in the witness.

// Only the channel stays, as fd 0: no pipe is held open and no directory busy.
void shed(int channel) {
  (void)dup2(channel, STDIN_FILENO);
  (void)syscall(SYS_close_range, STDOUT_FILENO, ~0U, 0U);
  (void)!chdir("/");
}

bool take_signal(int number, const timespec& bound) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  int taken = 0;
  do taken = sigtimedwait(&one, nullptr, &bound);
  while (taken < 0 && errno == EINTR);
  return taken == number;
}

constexpr timespec kNow{0, 0};

void take_stops() {
  for (const int stop : {SIGTSTP, SIGTTIN, SIGTTOU}) (void)take_signal(stop, kNow);
}

void take_all_signals() {
  for (int signal = 1; signal < NSIG; ++signal) (void)take_signal(signal, kNow);
}

// Until the next question, or until the process is not stopped any more.
void watch(pid_t process) {
  pollfd question{STDIN_FILENO, POLLIN, 0};
  for (int period = kFirstPeriod; poll(&question, 1, period) == 0;
       period = std::min(2 * period, kLastPeriod)) {
    const auto stat = cgroup::read_stat(process);
    if (stat && stat->state == 'T') continue;
    (void)kill(getppid(), SIGCONT);  // our parent, or we had been killed with it
    return;
  }
}

[[noreturn]] void testify(int channel, pid_t parent) {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  shed(channel);
  Question question{};
  while (recv(STDIN_FILENO, &question, sizeof question, 0) == sizeof question) {
    Answer answer{question.serial, false};
    if (question.kind == kGot) answer.got = take_signal(question.value, kGroupBound);
    if (question.kind == kForget) take_all_signals();
    if (question.kind == kForgetStops) take_stops();
    (void)send(STDIN_FILENO, &answer, sizeof answer, MSG_NOSIGNAL);
    if (question.kind == kWatch) watch(question.value);
  }
  _exit(0);
}

}  // namespace

Result<GroupWitness> GroupWitness::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return failed(errno, "make a socket pair");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return failed(errno, "fork");
  if (pid == 0) testify(theirs.get(), parent);
  auto process = cgroup::Pidfd::open(pid);  // ours and not reaped: the number is still its
  if (process) return GroupWitness(std::move(ours), std::move(*process));
  ours.reset();  // its end
  (void)waitpid(pid, nullptr, 0);
  return process.error();
}

GroupWitness::~GroupWitness() {
  if (process_.fd() < 0) return;
  (void)process_.signal(SIGKILL);  // may be gone, and reaped, already
  siginfo_t info{};
  while (waitid(P_PIDFD, static_cast<id_t>(process_.fd()), &info, WEXITED) != 0 && errno == EINTR)
    continue;
}

bool GroupWitness::ask(int kind, int value) {
  const Question question{++serial_, kind, value};
  if (send(channel_.get(), &question, sizeof question, MSG_NOSIGNAL) < 0) return false;
  pollfd readable{channel_.get(), POLLIN, 0};
  while (poll(&readable, 1, kAnswerBound) > 0) {
    Answer answer{};
    if (recv(channel_.get(), &answer, sizeof answer, 0) != sizeof answer) return false;
    if (answer.serial == serial_) return answer.got;  // else a late one, to an earlier question
  }
  (void)process_.signal(SIGCONT);  // it was stopped with us, but not continued
  return false;
}

bool GroupWitness::got(int signal) {
  return ask(kGot, signal);
}

void GroupWitness::forget() {
  (void)ask(kForget, 0);
}

void GroupWitness::forget_stops() {
  (void)ask(kForgetStops, 0);
}

void GroupWitness::continue_with(pid_t process) {
  (void)ask(kWatch, process);
}

}  // namespace corral::cli
