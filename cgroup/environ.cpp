#include "cgroup/environ.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "cgroup/pidfd.h"
#include "cgroup/proc_stat.h"

namespace corral::cgroup {
namespace {

Holds read_and_search(int fd, EnvironSearch& search) {
  char buffer[16384];
  for (size_t size = 0; size < kEnvironBytes;) {
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == ESRCH ? Holds::gone : Holds::unreadable;
    if (n == 0) {
      search.end();
      break;
    }
    search.feed({buffer, static_cast<size_t>(n)});
    if (search.found()) break;
    size += static_cast<size_t>(n);
  }
  return search.found() ? Holds::yes : Holds::no;
}

}  // namespace

EnvironSearch::EnvironSearch(const std::vector<std::string>& entries, bool beginnings)
    : beginnings_(beginnings) {
  for (const std::string& entry : entries) sought_.push_back({.entry = entry});
}

void EnvironSearch::feed(std::string_view piece) {
  while (!piece.empty()) {
    const size_t nul = piece.find('\0');
    const std::string_view part = piece.substr(0, nul);
    for (Sought& one : sought_) {
      if (!one.matched) continue;
      const auto rest = std::string_view(one.entry).substr(*one.matched);
      one.found |= beginnings_ && part.starts_with(rest);
      const bool same = rest.starts_with(part);
      one.matched = same ? std::optional(*one.matched + part.size()) : std::nullopt;
    }
    if (nul == piece.npos) return;
    end();
    piece.remove_prefix(nul + 1);
  }
}

void EnvironSearch::end() {
  for (Sought& one : sought_) {
    one.found |= one.matched == one.entry.size();
    one.matched = 0;
  }
}

bool EnvironSearch::found() const {
  return std::all_of(sought_.begin(), sought_.end(), [](const Sought& one) { return one.found; });
}

namespace {

Holds search_environ(pid_t pid, uint64_t start_time, EnvironSearch search) {
  const auto stat = read_stat(pid);
  const auto tid = stat && stat->start_time == start_time ? living_thread(*stat) : std::nullopt;
  if (!tid) return Holds::gone;
  const auto fd = base::open_at(AT_FDCWD, fmt::format("/proc/{}/environ", *tid), O_RDONLY);
  if (!fd) {
    const bool gone = fd.error().code == ENOENT || fd.error().code == ESRCH;
    return gone ? Holds::gone : Holds::unreadable;
  }
  const Holds holds = read_and_search(fd->get(), search);
  return cgroup::start_time(pid) == start_time ? holds : Holds::gone;
}

}  // namespace

Holds environ_holds(pid_t pid, uint64_t start_time, const std::vector<std::string>& entries) {
  return search_environ(pid, start_time, EnvironSearch(entries));
}

Holds environ_names(pid_t pid, uint64_t start_time, const std::string& name) {
  return search_environ(pid, start_time, EnvironSearch({name + "="}, true));
}

}  // namespace corral::cgroup
