#include "init_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "cgroup/record.h"
#include "cgroup_test.h"

namespace corral::test {
namespace {

constexpr size_t kMostFds = 32;
constexpr int kDeadlineMilliseconds = 20000;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

union Control {
  char bytes[CMSG_SPACE(sizeof(int) * kMostFds)];
  cmsghdr aligned;
};

}  // namespace

std::string bytes_of(const Spec& spec) {
  std::string strings;
  const auto add = [&](const std::string& text) { strings.append(text.c_str(), text.size() + 1); };
  add(spec.directory);
  for (const Stream& stream : spec.streams) add(stream.path);
  for (const std::string& argument : spec.argv) add(argument);
  for (const std::string& entry : spec.environment) add(entry);
  const corral_spec header{
      .protocol = CORRAL_PROTOCOL,
      .argc = static_cast<uint32_t>(spec.argv.size()),
      .envc = static_cast<uint32_t>(spec.environment.size()),
      .stream = {spec.streams[0].kind, spec.streams[1].kind, spec.streams[2].kind},
      .bytes = strings.size()};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + strings;
}

UniqueFd memory_file(const std::string& bytes) {
  UniqueFd fd(memfd_create("spec", MFD_CLOEXEC));
  if (!fd) throw_errno("memfd_create");
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t written = write(fd.get(), bytes.data() + at, bytes.size() - at);
    if (written < 0) throw_errno("write to a memfd");
    at += static_cast<size_t>(written);
  }
  return fd;
}

std::string Reply::outcome() const {
  return std::string(corral_step_name(said.step)) + ": " + std::to_string(said.error);
}

Connection::Connection(const std::string& socket)
    : fd_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socket.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    throw_errno("connect");
}

void Connection::send(const void* data, size_t size, const std::vector<int>& fds) {
  Control control{};
  iovec part{.iov_base = const_cast<void*>(data), .iov_len = size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    control.aligned.cmsg_level = SOL_SOCKET;
    control.aligned.cmsg_type = SCM_RIGHTS;
    control.aligned.cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(&control.aligned), fds.data(), sizeof(int) * fds.size());
  }
  if (sendmsg(fd_.get(), &message, MSG_NOSIGNAL) < 0) throw_errno("send a request");
}

void Connection::send(uint32_t kind, const std::vector<int>& fds, uint32_t protocol) {
  const corral_request request{.protocol = protocol, .kind = kind};
  send(&request, sizeof request, fds);
}

std::optional<Reply> Connection::receive() {
  if (!readable(fd_.get(), kDeadlineMilliseconds)) throw std::runtime_error("no answer");
  Reply reply;
  Control control{};
  iovec part{.iov_base = &reply.said, .iov_len = sizeof reply.said};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  if (size < 0 && errno != ECONNRESET) throw_errno("read a reply");
  if (size <= 0) return std::nullopt;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  const size_t count = header == nullptr ? 0 : (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (size_t i = 0; i < count; ++i) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
    reply.fds.emplace_back(fd);
  }
  return reply;
}

RunDir::RunDir(const cgroup::Group& parent, const std::string& name)
    : run_(cgroup::must(cgroup::Group::create(parent.fd(), name))),
      init_(cgroup::must(cgroup::Group::create(run_.fd(), "init"))),
      work_(cgroup::must(cgroup::Group::create(run_.fd(), "work"))),
      exit_file_(memory_file("")) {}

std::string RunDir::exit_line() const {
  return slurp("/proc/self/fd/" + std::to_string(exit_file()));
}

std::vector<int> RunDir::fds(int spec, const std::vector<int>& streams) const {
  std::vector<int> all = {spec, run_.fd(), init_.fd(), work_.fd(), exit_file()};
  all.insert(all.end(), streams.begin(), streams.end());
  return all;
}

Reply RunDir::start(const std::string& socket, const Spec& spec) const {
  std::vector<int> streams;
  for (const Stream& stream : spec.streams)
    if (stream.kind == CORRAL_STREAM_FD) streams.push_back(stream.fd);
  const UniqueFd file = memory_file(bytes_of(spec));
  Connection connection(socket);
  connection.send(CORRAL_START, fds(file.get(), streams));
  auto reply = connection.receive();
  if (!reply) throw std::runtime_error("end of file instead of an answer");
  return std::move(*reply);
}

std::optional<run::Exit> RunDir::exit() const {
  const auto json = cgroup::must(cgroup::read_record(run_, run::kExitXattr));
  if (!json) return std::nullopt;
  return cgroup::must(run::parse_exit(*json));
}

std::optional<run::Members> RunDir::members() const {
  const auto json = cgroup::must(cgroup::read_record(run_, run::kDriverXattr));
  if (!json) return std::nullopt;
  return cgroup::must(run::parse_members(*json));
}

std::string RunDir::awaited_exit() const {
  for (int i = 0; i < kDeadlineMilliseconds && !exit(); ++i) (void)poll(nullptr, 0, 1);
  const auto recorded = exit();
  if (!recorded) return "";
  return std::string(run::word(recorded->exit)) + " " + std::to_string(recorded->status);
}

bool RunDir::becomes_empty() const {
  for (int i = 0; i < kDeadlineMilliseconds; ++i) {
    if (members_of(init_).empty() && members_of(work_).empty()) return true;
    (void)poll(nullptr, 0, 1);
  }
  return false;
}

std::string slurp(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string status_of(pid_t pid, const std::string& key) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key + ":\t")) return line.substr(key.size() + 2);
  return "";
}

std::vector<pid_t> members_of(const cgroup::Group& group) {
  std::istringstream text(cgroup::must(base::read_at(group.fd(), "cgroup.procs")));
  std::vector<pid_t> pids;
  for (pid_t pid = 0; text >> pid;) pids.push_back(pid);
  return pids;
}

bool readable(int fd, int milliseconds) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&ready, 1, milliseconds) == 1;
}

}  // namespace corral::test
