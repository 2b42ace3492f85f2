#include "cli/pty.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

namespace corral::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// setsid(1) gives the child a session, and the shell's redirection opens its terminal there.
std::vector<std::string> on_terminal(const std::string& name, std::vector<std::string> argv) {
  std::vector<std::string> words{"setsid", "/bin/sh", "-c", "exec <>\"$0\" >&0 2>&0; exec \"$@\"",
                                 name};
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

}  // namespace

Pty::Pty(const std::vector<std::string>& argv)
    : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
  std::array<char, 64> name{};
  if (!master_ || grantpt(master_.get()) != 0 || unlockpt(master_.get()) != 0 ||
      ptsname_r(master_.get(), name.data(), name.size()) != 0)
    throw std::runtime_error("cannot make a terminal");
  leader_.emplace(
      harness::Command{.argv = on_terminal(name.data(), argv),
                       .environment = {"TERM=dumb", "PS1=$ ", "HISTFILE=", "INPUTRC=/dev/null"}});
}

void Pty::type(const std::string& keys) {
  if (write(master_.get(), keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
    throw std::runtime_error("cannot type");
}

bool Pty::read_on(steady_clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
  pollfd ready{master_.get(), POLLIN, 0};
  if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) return false;
  std::array<char, 4096> bytes{};
  const ssize_t count = read(master_.get(), bytes.data(), bytes.size());
  if (count <= 0) return false;  // EIO: nobody has the terminal open any more
  shown_.append(bytes.data(), static_cast<size_t>(count));
  return true;
}

bool Pty::expect(const std::string& text) {
  const auto deadline = steady_clock::now() + harness::kDeadline;
  for (;;) {
    const size_t found = shown_.find(text, seen_);
    if (found != std::string::npos) {
      seen_ = found + text.size();
      return true;
    }
    if (!read_on(deadline)) return false;
  }
}

int Pty::finish() {
  const auto deadline = steady_clock::now() + harness::kDeadline;
  while (read_on(deadline)) continue;
  return leader_->wait(milliseconds{1000}).value_or(-1);
}

}  // namespace corral::cli
