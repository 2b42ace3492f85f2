#include "daemon/spawner.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <utility>

#include "base/escape.h"
#include "base/fd_message.h"
#include "daemon/spec_file.h"
#include "init/protocol.h"

namespace corral::daemon {

struct Spawner::Answer {
  corral_reply reply{};
  UniqueFd supervisor, driver;  // pidfds; empty on a failed step
};

struct Spawner::Pending {
  UniqueFd connection;
  Done done;
  Source readable, overdue;
};

namespace {

Result<UniqueFd> connect_to(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path)
    return failed(ENAMETOOLONG, fmt::format("connect to spawner {}", path));
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed(errno, "socket for the spawner");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return fd;
  auto error = failed(errno, fmt::format("connect to spawner {}", path));
  if (error.code == ENOENT || error.code == ECONNREFUSED)
    error.message +=
        "; start it: corral-init --spawn SOCKET, or systemctl start corral-spawn.service";
  return error;
}

Result<void> send_request(int connection, uint32_t kind, const std::vector<int>& fds) {
  const corral_request request{.protocol = CORRAL_PROTOCOL, .kind = kind};
  if (base::send_with_fds(connection, &request, sizeof request, fds) < 0)
    return failed(errno, "send a request to the spawner");
  return {};
}

// What the steps of a start that act on something named by the caller act on.
using Objects = std::map<uint32_t, std::string>;
Objects objects_of(const run::Spec& spec) {
  return {{CORRAL_STEP_EXEC, spec.argv.front()},
          {CORRAL_STEP_WORKING_DIRECTORY, spec.working_directory},
          {CORRAL_STEP_STDIN, spec.input.path},
          {CORRAL_STEP_STDOUT, spec.output.path},
          {CORRAL_STEP_STDERR, spec.error.path}};
}

// The words of StartFailed for a step that failed.
Error step_error(const corral_reply& reply, const Objects& objects) {
  const std::string step = corral_step_name(reply.step);
  const auto object = objects.find(reply.step);
  if (object == objects.end() || object->second.empty()) return failed(reply.error, step);
  return failed(reply.error, fmt::format("{} \"{}\"", step, base::escape(object->second)));
}

}  // namespace

Spawner::Spawner(Loop& loop, std::string socket, std::chrono::microseconds bound)
    : loop_(loop), socket_(std::move(socket)), bound_(bound) {}
Spawner::~Spawner() = default;

void Spawner::start(const Birth& birth, base::Callback<void(Result<Born>)> done) {
  Done answered = [objects = objects_of(birth.spec),
                   done = std::move(done)](Result<Answer> answer) mutable {
    if (!answer) return done(answer.error());
    if (answer->reply.step != CORRAL_STEP_NONE) return done(step_error(answer->reply, objects));
    if (!answer->driver) return done(Error{"start: the spawner answered without a pidfd", 0});
    const bool moved = (answer->reply.flags & (CORRAL_SUPERVISOR_MOVED | CORRAL_DRIVER_MOVED)) != 0;
    done(Born{cgroup::Pidfd::adopt(std::move(answer->driver), answer->reply.driver),
              static_cast<uint32_t>(answer->reply.supervisor), moved});
  };
  auto spec_file = make_spec_file(birth.spec, birth.invocation);
  if (!spec_file) return fail_later(spec_file.error(), std::move(answered));
  std::vector<int> fds = {spec_file->get(), birth.run.fd(), birth.init.fd(), birth.work.fd(),
                          birth.exit_file};
  for (const auto* stream : {&birth.spec.input, &birth.spec.output, &birth.spec.error}) {
    if (stream->kind == run::Stream::Kind::fd) fds.push_back(stream->fd.get());
  }
  ask(CORRAL_START, std::move(fds), std::move(answered));
}

void Spawner::probe(const cgroup::Group& throw_away,
                    base::Callback<void(Result<KernelBugs>)> done) {
  ask(CORRAL_PROBE, {throw_away.fd()}, [done = std::move(done)](Result<Answer> answer) mutable {
    if (!answer) return done(answer.error());
    if (answer->reply.step != CORRAL_STEP_NONE) return done(step_error(answer->reply, {}));
    done(KernelBugs{(answer->reply.flags & CORRAL_BUG_DEAD_LEADER) != 0,
                    (answer->reply.flags & CORRAL_BUG_KILLED_BIRTH) != 0});
  });
}

// SO_PEERCRED of a listener is of who called listen(2) (unix(7)).
std::optional<pid_t> Spawner::pid() const {
  const auto connection = connect_to(socket_);
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!connection || getsockopt(connection->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
    return std::nullopt;
  return peer.pid;
}

void Spawner::ask(uint32_t kind, std::vector<int> fds, Done done) {
  auto connection = connect_to(socket_);
  if (!connection) return fail_later(connection.error(), std::move(done));
  auto sent = send_request(connection->get(), kind, fds);
  if (!sent) return fail_later(sent.error(), std::move(done));
  const int key = connection->get();
  auto pending = std::make_unique<Pending>();
  pending->connection = std::move(*connection);
  pending->done = std::move(done);
  pending->readable = loop_.on_readable(key, [this, key] { on_readable(key); });
  pending->overdue =
      loop_.after(bound_, [this, key] { finish(key, failed(ETIMEDOUT, "wait for the spawner")); });
  pending_.emplace(key, std::move(pending));
}

void Spawner::fail_later(Error error, Done done) {
  const int key = next_failure_--;
  auto pending = std::make_unique<Pending>();
  pending->done = std::move(done);
  pending->overdue = loop_.soon([this, key, error = std::move(error)] { finish(key, error); });
  pending_.emplace(key, std::move(pending));
}

void Spawner::on_readable(int connection) {
  Answer answer;
  std::vector<UniqueFd> fds;
  const ssize_t size =
      base::receive_with_fds(connection, &answer.reply, sizeof answer.reply, MSG_DONTWAIT, fds);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size < 0) return finish(connection, failed(errno, "read the spawner's answer"));
  if (size == 0)
    return finish(connection,
                  Error{"start: the spawner or the supervisor died before it answered", 0});
  if (size != sizeof answer.reply || answer.reply.protocol != CORRAL_PROTOCOL)
    return finish(connection, failed(EPROTO, "read the spawner's answer"));
  if (fds.size() == 2) {
    answer.supervisor = std::move(fds[0]);
    answer.driver = std::move(fds[1]);
  }
  finish(connection, std::move(answer));
}

void Spawner::finish(int connection, Result<Answer> answer) {
  const auto found = pending_.find(connection);
  if (found == pending_.end()) return;
  auto pending = std::move(found->second);
  pending_.erase(found);
  pending->readable.reset();  // before the connection is closed
  pending->connection.reset();
  pending->done(std::move(answer));
}

}  // namespace corral::daemon
