#pragma once

#include <string_view>

#include "base/result.h"
#include "cli/table.h"

namespace corral::cli {

// Where and how the program may write.
struct Output {
  Format out, error;            // of standard output and standard error
  bool error_terminal = false;  // a progress line may be drawn there

  // Asks the terminals (ioctl_tty(2), TIOCGWINSZ) and $NO_COLOR, $TERM.
  static Output of_process();
};

// write(2) until all of `text` is out; errors name `what`.
Result<void> write_all(int fd, std::string_view text, std::string_view what);

// All of it, or the reason why not: a full disk must not pass for success.
Result<void> write_out(std::string_view text);
// To standard error; what cannot be written there is lost.
void write_error(std::string_view text);

}  // namespace corral::cli
