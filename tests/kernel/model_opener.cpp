#include "model_opener.h"

#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <sstream>

#include "parked.h"

namespace corral::test {
namespace {

void say(int fd, const std::string& text) {
  const std::string line = text + "\n";
  (void)!write(fd, line.data(), line.size());
}

// The service may be away for a moment.
void report(const harness::Opened& opened, const std::string& address, const Parked& driver) {
  const auto [word, status] = driver.exit();
  eventually([&, word = word, status = status] {
    try {
      harness::Client mine(address);
      const auto told = mine.report_exit(opened.path, word, status);
      const auto error = harness::error_of(told);
      return error != "org.freedesktop.DBus.Error.ServiceUnknown" &&
             error != "org.freedesktop.DBus.Error.NoReply";
    } catch (const std::exception&) {
      return false;
    }
  });
}

void act(int fd, const std::string& address, const std::string& id,
         const std::vector<std::string>& argv, const Dict& options) {
  harness::Client mine(address);
  const auto opened = mine.open_run(id, options);
  if (!opened) return say(fd, "refused " + opened.error().name);
  say(fd, "opened " + opened->path + " " + opened->invocation + " " + opened->directory);
  Parked driver(argv, opened->directory + "/work");
  if (!mine.attach(opened->path, static_cast<uint32_t>(driver.pid()))) return;
  driver.release();
  say(fd, "driver " + std::to_string(driver.pid()));
  close(fd);
  report(*opened, address, driver);
  driver.reap();
}

}  // namespace

void leave_fds(int but) {
  if (but > 3) (void)close_range(3, static_cast<unsigned>(but) - 1, 0);
  (void)close_range(static_cast<unsigned>(but) + 1, ~0U, 0);
}

Opener::Opener(const std::string& address, const std::string& id,
               const std::vector<std::string>& argv, const Dict& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  pid_ = fork();
  if (pid_ == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    leave_fds(write_end.get());
    try {
      act(write_end.get(), address, id, argv, options);
    } catch (const std::exception&) {
      _exit(1);  // the pipe's end says it
    }
    _exit(0);
  }
  write_end.reset();
  std::string text;
  char part[512];
  for (ssize_t n; (n = read(read_end.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(n));
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "refused") words >> refused_;
    if (word == "opened") words >> opened_.path >> opened_.invocation >> opened_.directory;
    if (word == "driver") words >> driver_;
  }
  if (refused_.empty() && opened_.path.empty()) refused_ = "no word";
}

void Opener::kill() {
  (void)::kill(pid_, SIGKILL);  // a child of ours that was not reaped: nobody else's number
}

Opener::~Opener() {
  kill();
  (void)waitpid(pid_, nullptr, 0);
}

}  // namespace corral::test
