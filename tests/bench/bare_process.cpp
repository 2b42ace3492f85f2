#include "bench/bare_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "harness/eventually.h"

namespace corral::bench {

BareProcess::BareProcess(const std::string& directory) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  socket_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  child_.emplace(harness::Command{.argv = {CORRAL_BENCH_BARE, directory, CORRAL_BENCH_DRIVER,
                                           CORRAL_MISBEHAVE, std::to_string(theirs.get())},
                                  .inherit = theirs.get()});
}

End BareProcess::ask(const std::string& request) {
  const std::string line = request + "\n";
  if (send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0)
    throw std::system_error(errno, std::generic_category(), "ask bench_bare to " + request);
  pollfd answered{socket_.get(), POLLIN, 0};
  (void)poll(&answered, 1, static_cast<int>(harness::kDeadline.count()));
  std::array<char, 64> text{};
  const ssize_t length = recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
  if (length <= 0) throw std::runtime_error("bench_bare does not answer to " + request);
  std::istringstream answer(std::string(text.data(), static_cast<size_t>(length)));
  int64_t nanoseconds = 0;
  End end;
  answer >> nanoseconds >> end.processes;
  end.took = Duration(nanoseconds);
  return end;
}

}  // namespace corral::bench
