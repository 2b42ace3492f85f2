#include "cli/embedded_host.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/parse.h"
#include "cli/embedded_stack.h"

namespace corral::cli {
namespace {

using std::chrono::milliseconds;

// More than the host's own bounds for the three parts and the cgroups come to.
constexpr milliseconds kStopBound{60'000};
// For what had its SIGTERM from the kernel when the host was killed.
constexpr milliseconds kPartBound{5'000};
constexpr const char* kHostName = "the host of the embedded service";

// Forks with every signal blocked, so that there is no moment in which one could end the host.
Result<cgroup::Pidfd> fork_host(HostChannel& channel, const HostOptions& options) {
  sigset_t all, before;
  sigfillset(&all);
  if (sigprocmask(SIG_SETMASK, &all, &before) != 0) return failed(errno, "block signals");
  const pid_t pid = fork();
  const int error = errno;
  if (pid == 0) run_host(std::move(channel.hosts), options);
  (void)sigprocmask(SIG_SETMASK, &before, nullptr);  // a mask of the kernel's own making
  if (pid < 0) return failed(error, "fork");
  channel.hosts.reset();  // else its end of file would never come
  auto process = cgroup::Pidfd::open(pid);
  // The end of file ends it, if it is not gone already.
  if (!process) (void)waitpid(pid, nullptr, WNOHANG);
  return process;
}

Result<void> add_to(int epoll, int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) return failed(errno, "watch a process");
  return {};
}

}  // namespace

Result<EmbeddedHost> EmbeddedHost::start(const HostOptions& options) {
  auto channel = make_host_channel();
  if (!channel) return channel.error();
  auto process = fork_host(*channel, options);
  if (!process) return process.error();
  EmbeddedHost host(std::move(channel->ours), std::move(*process));
  if (auto placed = host.take_place(); !placed) return placed.error();
  if (auto up = host.take_parts(); !up) return up.error();
  return host;
}

EmbeddedHost::~EmbeddedHost() {
  (void)stop();  // whoever wants to know has called it
}

std::string EmbeddedHost::address() const {
  return EmbeddedStack::address_in(*directory_);
}

Result<HostMessage> EmbeddedHost::expect(const std::string& word) {
  auto message = receive_message(socket_.get());
  if (!message) return Error{fmt::format("{} does not start", kHostName), message.error().code};
  const auto& words = message->words;
  if (words[0] == word) return message;
  return Error{words.size() > 2 ? words[2] : "", base::number<int>(words.at(1)).value_or(0)};
}

Result<void> EmbeddedHost::take_place() {
  auto message = expect(kHostAt);
  if (!message) return message.error();
  const auto& words = message->words;
  directory_.emplace(PrivateDirectory::adopt(words.at(1)));
  auto group = WorkingGroup::adopt(std::move(message->fds.at(0)), words.at(2),
                                   std::move(message->fds.at(1)), words.at(3));
  if (!group) return group.error();
  group_.emplace(std::move(*group));
  return {};
}

Result<void> EmbeddedHost::take_parts() {
  auto message = expect(kHostUp);
  if (!message) return message.error();
  for (UniqueFd& fd : message->fds) parts_.push_back(cgroup::Pidfd::adopt(std::move(fd), 0));
  watch_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!watch_) return failed(errno, "make an epoll");
  if (auto added = add_to(watch_.get(), process_.fd()); !added) return added;
  for (const cgroup::Pidfd& part : parts_)
    if (auto added = add_to(watch_.get(), part.fd()); !added) return added;
  return {};
}

Result<void> EmbeddedHost::check(milliseconds bound) const {
  pollfd exit{.fd = watch_.get(), .events = POLLIN, .revents = 0};
  (void)poll(&exit, 1, static_cast<int>(bound.count()));  // asked again below
  const auto gone = [this](const char* name) {
    return with_log(fmt::format("{} has exited", name), EmbeddedStack::log_in(*directory_));
  };
  if (process_.exited()) return gone(kHostName);  // first: the parts go with it
  for (size_t i = 0; i < parts_.size(); ++i)
    if (parts_[i].exited()) return gone(EmbeddedStack::kParts.at(i));
  return {};
}

Result<void> EmbeddedHost::stop() {
  if (!socket_) return {};
  (void)send_message(socket_.get(), {kHostStop});  // EPIPE: it is gone already
  reap();
  // Of a host that took everything down these have gone; one that was killed leaves them.
  for (const cgroup::Pidfd& part : parts_)
    if (!wait_exit(part.fd(), kPartBound)) (void)part.signal(SIGKILL);
  socket_.reset();
  auto group = group_ ? group_->remove() : Result<void>{};
  auto directory = directory_ ? directory_->remove() : Result<void>{};
  return group ? directory : group;
}

void EmbeddedHost::reap() {
  if (!wait_exit(process_.fd(), kStopBound)) (void)process_.signal(SIGKILL);
  siginfo_t info{};
  const auto id = static_cast<id_t>(process_.fd());
  // ECHILD: whoever waits for every child of this process was first.
  while (waitid(P_PIDFD, id, &info, WEXITED) != 0 && errno == EINTR) continue;
}

}  // namespace corral::cli
