#include "cgroup/proc_stat.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <memory>

#include "base/file.h"
#include "base/parse.h"

namespace corral::cgroup {
namespace {

constexpr size_t kStatBytes = 4096;  // about 350 are usual

// Where a field of proc_pid_stat(5) is found once "PID (comm) " is off.
constexpr size_t at(size_t field) {
  return field - 3;
}

bool has_exited(char state) {
  return state == 'Z' || state == 'X';
}

template <typename T>
bool take(std::string_view text, T& value) {
  const auto parsed = base::number<T>(text);
  if (parsed) value = *parsed;
  return parsed.has_value();
}

}  // namespace

std::optional<ProcStat> parse_stat(std::string_view text) {
  const auto open = text.find(" (");
  const auto close = text.rfind(") ");  // a comm may hold any of them, the fields after it do not
  if (open == text.npos || close == text.npos || close < open + 2 || !text.ends_with('\n'))
    return std::nullopt;
  const auto fields = base::split(text.substr(close + 2, text.size() - close - 3), ' ');
  if (fields.size() <= at(52) || fields[0].size() != 1) return std::nullopt;

  ProcStat stat;
  stat.comm = text.substr(open + 2, close - open - 2);
  stat.state = fields[0][0];
  const bool whole = take(text.substr(0, open), stat.pid) && take(fields[at(4)], stat.ppid) &&
                     take(fields[at(5)], stat.pgrp) && take(fields[at(6)], stat.session) &&
                     take(fields[at(14)], stat.utime) && take(fields[at(15)], stat.stime) &&
                     take(fields[at(22)], stat.start_time) &&
                     take(fields[at(24)], stat.rss_pages) && take(fields[at(52)], stat.exit_code);
  if (!whole) return std::nullopt;
  return stat;
}

std::optional<ProcStat> read_stat(pid_t pid) {
  const auto text = base::read_at(AT_FDCWD, fmt::format("/proc/{}/stat", pid), kStatBytes);
  if (!text) return std::nullopt;
  return parse_stat(*text);
}

std::optional<pid_t> living_thread(const ProcStat& process) {
  if (!has_exited(process.state)) return process.pid;
  struct Close {
    void operator()(DIR* directory) const { closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> tasks(
      opendir(fmt::format("/proc/{}/task", process.pid).c_str()));
  if (!tasks) return std::nullopt;
  while (const dirent* entry = readdir(tasks.get())) {
    const auto tid = base::number<pid_t>(entry->d_name);
    if (!tid || *tid == process.pid) continue;
    // /proc/TID is there for every thread, though no listing of /proc names it (proc_tid(5)).
    const auto thread = read_stat(*tid);
    if (thread && !has_exited(thread->state)) return tid;
  }
  return std::nullopt;
}

}  // namespace corral::cgroup
