#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace corral::bench {

// A file that strace -f -o writes, read from where the last look ended.
class Trace {
 public:
  explicit Trace(std::string path) : path_(std::move(path)) {}

  // The command line of strace(1) that goes in front of the program.
  std::vector<std::string> wrapper() const { return {"strace", "-D", "-f", "-o", path_}; }

  // The names of the calls that each process (or thread) began since the last look, in order. The
  // program must be idle, or lines of it are still to come.
  std::map<pid_t, std::vector<std::string>> take();

 private:
  std::string path_;
  size_t read_ = 0;  // bytes
};

// "openat 3, fstat 2", the most frequent first.
std::string summary(const std::vector<std::string>& calls);

}  // namespace corral::bench
