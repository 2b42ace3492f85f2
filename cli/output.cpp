#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace corral::cli {
namespace {

constexpr size_t kUsualWidth = 80;  // of a terminal that does not say

bool colours_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return (no_colour == nullptr || *no_colour == '\0') &&
         (terminal == nullptr || std::strcmp(terminal, "dumb") != 0);
}

Format format_of(int fd) {
  if (isatty(fd) == 0) return {};
  winsize size{};
  const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col != 0;
  return {known ? size.ws_col : kUsualWidth, colours_wanted()};
}

}  // namespace

Result<void> write_all(int fd, std::string_view text, std::string_view what) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(errno, fmt::format("write to {}", what));
    text.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Output Output::of_process() {
  return {format_of(STDOUT_FILENO), format_of(STDERR_FILENO), isatty(STDERR_FILENO) == 1};
}

Result<void> write_out(std::string_view text) {
  return write_all(STDOUT_FILENO, text, "standard output");
}

void write_error(std::string_view text) {
  (void)write_all(STDERR_FILENO, text, "standard error");  // there is nowhere else to say it
}

}  // namespace corral::cli
