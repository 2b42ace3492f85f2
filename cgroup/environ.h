#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::cgroup {

// Looks for whole entries ("NAME=value") in an environment that comes in pieces of any size, each
// entry ended by a NUL, the last one perhaps by the end (proc_pid_environ(5)). Keeps no more than
// the entries it looks for.
class EnvironSearch {
 public:
  // An empty list is found at once. With `beginnings`, an entry that begins so will do.
  explicit EnvironSearch(const std::vector<std::string>& entries, bool beginnings = false);
  void feed(std::string_view piece);
  // No more comes: what was fed last is an entry too.
  void end();
  // Whether each of the entries was met, whatever their order.
  bool found() const;

 private:
  struct Sought {
    std::string entry;
    std::optional<size_t> matched = 0;  // of the entry that is being fed; nullopt: another one
    bool found = false;
  };
  bool beginnings_;
  std::vector<Sought> sought_;
};

// More than the kernel lets a program start with (6 MiB, execve(2)).
inline constexpr size_t kEnvironBytes = size_t{8} << 20;

enum class Holds { yes, no, gone, unreadable };
// Whether the environment that the process was started with (by execve(2); it may have written over
// it) holds all the entries. Reads kEnvironBytes at most. gone: no such process that started at
// `start_time`, or a zombie.
Holds environ_holds(pid_t pid, uint64_t start_time, const std::vector<std::string>& entries);
// The same for a variable of this name, whatever its value.
Holds environ_names(pid_t pid, uint64_t start_time, const std::string& name);

}  // namespace corral::cgroup
