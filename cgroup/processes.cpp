#include "cgroup/processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "base/escape.h"
#include "base/file.h"
#include "cgroup/proc_stat.h"
#include "cgroup/sockets.h"
#include "cgroup/walk.h"

namespace corral::cgroup {
namespace {

uint64_t now_usec(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1'000;
}

// What the figures of /proc/PID/stat are worth at the moment of a look. A start time counts from
// boot, suspended time included (CLOCK_BOOTTIME); btime of /proc/stat is whole seconds, too coarse
// to make a point in time of it.
struct Scale {
  uint64_t boottime = now_usec(CLOCK_BOOTTIME);
  uint64_t realtime = now_usec(CLOCK_REALTIME);
  uint64_t usec_per_tick = 1'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));

  uint64_t usec(uint64_t ticks) const { return ticks * usec_per_tick; }
  uint64_t age(uint64_t start_time) const {
    return boottime - std::min(boottime, usec(start_time));
  }
};

struct Shown {
  std::string text;
  bool cut = false;
};

// `bytes` escaped and then cut at `limit`, never inside an escape or a character.
Shown escape_and_cut(std::string_view bytes, size_t limit) {
  std::string text = base::escape(bytes.substr(0, limit + 1));  // escaping never shortens
  if (text.size() <= limit) return {std::move(text)};
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  const auto backslash = text.rfind('\\', end);  // stands nowhere but before xNN
  if (backslash != text.npos && backslash < end && backslash + 4 > end) end = backslash;
  text.resize(end);
  return {std::move(text), true};
}

std::string join(const std::string& parent, const std::string& below) {
  if (below.empty()) return parent;
  return parent.ends_with('/') ? parent + below : parent + '/' + below;
}

run::Detached detached(const ProcStat& stat, const Lineage& lineage) {
  if (lineage.driver_sid && stat.session != lineage.driver_sid) return run::Detached::own_session;
  if (lineage.driver_pgid && stat.pgrp != lineage.driver_pgid) return run::Detached::own_group;
  const bool adopted = stat.ppid == 1 || stat.ppid == lineage.supervisor;
  if (lineage.driver && stat.pid != lineage.driver && adopted) return run::Detached::orphaned;
  return run::Detached::no;
}

run::Process seen(const ProcStat& stat, const Scale& scale, const Lineage& lineage) {
  run::Process process;
  process.pid = static_cast<uint32_t>(stat.pid);
  process.start_time = stat.start_time;
  process.age_usec = scale.age(stat.start_time);
  process.start_timestamp = scale.realtime - *process.age_usec;
  process.comm = base::escape(stat.comm);
  process.state = stat.state;
  process.ppid = static_cast<uint32_t>(stat.ppid);
  process.pgid = static_cast<uint32_t>(stat.pgrp);
  process.sid = static_cast<uint32_t>(stat.session);
  process.rss = stat.rss_pages * scale.page;
  process.cpu_usec = scale.usec(stat.utime + stat.stime);
  process.detached = detached(stat, lineage);
  return process;
}

// At most `limit` bytes from the start of a file of /proc; "" where it cannot be read.
std::string read_head(const std::string& path, size_t limit) {
  const auto fd = base::open_at(AT_FDCWD, path, O_RDONLY);
  if (!fd) return {};
  std::string text(limit, '\0');
  size_t size = 0;
  while (size < limit) {
    const ssize_t n = read(fd->get(), text.data() + size, limit - size);
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  text.resize(size);
  return text;
}

void read_argv(pid_t tid, run::Process& process) {
  // A byte more than is shown tells whether there is more: escaping never shortens.
  const std::string text = read_head(fmt::format("/proc/{}/cmdline", tid), run::kArgvBytes + 1);
  std::string_view rest = text;
  // A title written over the arguments (setproctitle(3)) leaves a tail of NULs.
  if (rest.ends_with(std::string_view("\0\0\0", 3)))
    rest = rest.substr(0, rest.find_last_not_of('\0') + 1);
  process.argv.clear();
  process.argv_truncated = text.size() > run::kArgvBytes;
  for (size_t left = run::kArgvBytes; !rest.empty();) {
    if (left == 0 || process.argv.size() == kArgvCount) {
      process.argv_truncated = true;
      return;
    }
    const std::string_view argument = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(argument.size() + 1, rest.size()));
    Shown shown = escape_and_cut(argument, left);
    left = shown.cut ? 0 : left - shown.text.size();
    process.argv_truncated |= shown.cut;
    process.argv.push_back(std::move(shown.text));
  }
}

void read_exe(pid_t tid, run::Process& process) {
  char target[PATH_MAX];
  const ssize_t n = readlink(fmt::format("/proc/{}/exe", tid).c_str(), target, sizeof target);
  if (n >= 0) process.exe = escape_and_cut({target, static_cast<size_t>(n)}, run::kArgvBytes).text;
}

// The owner of /proc/PID itself is the effective uid, whatever PR_SET_DUMPABLE says (proc(5)).
void read_uid(pid_t pid, run::Process& process) {
  struct stat status {};
  if (stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0) process.uid = status.st_uid;
}

// nullopt unless the number still names the process that was looked at.
std::optional<ProcStat> same(const run::Process& process) {
  auto stat = read_stat(static_cast<pid_t>(process.pid));
  if (!stat || stat->start_time != process.start_time) return std::nullopt;
  return stat;
}

}  // namespace

Result<std::vector<Member>> members(const Group& group) {
  std::vector<Member> found;
  const auto walked = each_group(group, [&](const Group& sub, const std::string& path) {
    const auto pids = pids_of(sub);
    if (!pids) return Result<void>(pids.error());
    for (const pid_t pid : *pids) found.push_back({pid, path});
    return Result<void>();
  });
  if (!walked) return walked.error();
  std::stable_sort(found.begin(), found.end(),
                   [](const Member& a, const Member& b) { return a.pid < b.pid; });
  // One that was moved while we walked is met twice.
  const auto end = std::unique(found.begin(), found.end(),
                               [](const Member& a, const Member& b) { return a.pid == b.pid; });
  found.erase(end, found.end());
  return found;
}

Result<uint64_t> count(const Group& group) {
  const auto found = members(group);
  if (!found) return found.error();
  return uint64_t{found->size()};
}

std::vector<run::Process> look(std::span<const Member> members, const std::string& group_path,
                               const Lineage& lineage) {
  const Scale scale;
  Sockets sockets;
  std::vector<run::Process> found;
  found.reserve(members.size());
  for (const Member& member : members) {
    const auto stat = read_stat(member.pid);
    const auto tid = stat ? living_thread(*stat) : std::nullopt;
    if (!tid) continue;
    run::Process process = seen(*stat, scale, lineage);
    process.control_group = escape_and_cut(join(group_path, member.group), PATH_MAX).text;
    process.listening = sockets.listening(*tid);
    if (*tid != member.pid) {  // an exited leader has given its memory back, the others hold it
      if (const auto thread = read_stat(*tid)) process.rss = thread->rss_pages * scale.page;
    }
    found.push_back(std::move(process));
  }
  return found;
}

void describe(run::Process& process) {
  const auto before = same(process);
  const auto tid = before ? living_thread(*before) : std::nullopt;
  if (!tid) return;
  run::Process described = process;
  read_exe(*tid, described);
  read_argv(*tid, described);
  read_uid(static_cast<pid_t>(process.pid), described);
  if (same(process)) process = std::move(described);
}

void describe_wait(run::Process& process) {
  const auto before = same(process);
  const auto tid = before ? living_thread(*before) : std::nullopt;
  const auto thread = tid ? read_stat(*tid) : std::nullopt;
  if (!thread) return;
  const std::string wchan = read_head(fmt::format("/proc/{}/wchan", *tid), 128);
  if (!same(process)) return;
  process.state = thread->state;
  process.wchan = wchan == "0" ? "" : base::escape(wchan);  // 0: it does not wait (proc_pid_wchan)
}

}  // namespace corral::cgroup
