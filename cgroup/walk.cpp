#include "cgroup/walk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/file.h"
#include "base/parse.h"

namespace corral::cgroup {
namespace {

// openat2(2), Linux 5.6. Whoever may mount could else lead a walk that kills out of the tree.
Result<Group> open_inside(const Group& from, const char* name, std::string shown) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  UniqueFd fd(static_cast<int>(syscall(SYS_openat2, from.fd(), name, &how, sizeof how)));
  if (!fd) return failed(errno, fmt::format("open {}", shown));
  return Group::adopt(std::move(fd), std::move(shown));
}

// One fd stands for the place in the tree; the way back is "..", which the kernel keeps even for
// directories that were removed meanwhile, and is checked by id. An fd for each level would let a
// deep tree exhaust our table.
class Walk {
 public:
  Walk(const Group& top, const Enter& enter, const Leave& leave)
      : top_(top), enter_(enter), leave_(leave) {}

  Result<void> run() {
    if (auto entered = enter_here(""); !entered) return entered;
    while (!levels_.empty()) {
      auto moved = levels_.back().todo.empty() ? up() : down();
      if (!moved) return moved;
    }
    if (skipped_) return std::move(*skipped_);
    return {};
  }

 private:
  struct Level {
    uint64_t id = 0;
    std::string name;               // "" at the top
    size_t path_length = 0;         // of path_ at this level
    std::vector<std::string> todo;  // what is below, the next one last
  };

  const Group& here() const { return here_ ? *here_ : top_; }

  Result<void> enter_here(std::string name) {
    if (auto entered = enter_(here(), path_); !entered) return entered;
    auto names = here().children();
    if (!names) skip(names.error());
    Level level{here().id(), std::move(name), path_.size(), {}};
    if (names) level.todo.assign(names->rbegin(), names->rend());
    levels_.push_back(std::move(level));
    return {};
  }

  Result<void> down() {
    std::string name = std::move(levels_.back().todo.back());
    levels_.back().todo.pop_back();
    auto below = open_inside(here(), name.c_str(), fmt::format("{}/{}", here().name(), name));
    if (!below) {
      if (!is_gone(below.error())) skip(below.error());
      return {};
    }
    here_ = std::move(*below);
    if (!path_.empty()) path_ += '/';
    path_ += name;
    return enter_here(std::move(name));
  }

  Result<void> up() {
    const std::string name = std::move(levels_.back().name);
    levels_.pop_back();
    if (levels_.empty()) return {};
    const Level& above = levels_.back();
    path_.resize(above.path_length);
    auto parent = open_inside(here(), "..", shown());
    if (!parent) return parent.error();
    if (parent->id() != above.id) return failed(ESTALE, fmt::format("go back to {}", shown()));
    here_ = std::move(*parent);
    return leave_ ? leave_(here(), name) : Result<void>{};
  }

  std::string shown() const {
    return path_.empty() ? top_.name() : fmt::format("{}/{}", top_.name(), path_);
  }
  void skip(const Error& error) {
    if (!skipped_) skipped_ = error;
  }

  const Group& top_;
  const Enter& enter_;
  const Leave& leave_;
  std::optional<Group> here_;  // nothing: the top
  std::string path_;
  std::vector<Level> levels_;
  std::optional<Error> skipped_;
};

}  // namespace

Result<void> each_group(const Group& top, const Enter& enter, const Leave& leave) {
  return Walk(top, enter, leave).run();
}

Result<std::vector<pid_t>> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  for (std::string_view line : base::split(text, '\n')) {
    const auto pid = base::number<pid_t>(line);
    if (!pid || *pid < 0) return Error{"a line of cgroup.procs is no process id", EBADMSG};
    if (*pid != 0) pids.push_back(*pid);
  }
  return pids;
}

Result<std::vector<pid_t>> pids_of(const Group& group) {
  auto text = base::read_at(group.fd(), "cgroup.procs");
  if (text) return parse_pids(*text);
  if (is_gone(text.error()) || text.error().code == EOPNOTSUPP) return std::vector<pid_t>{};
  return Error{fmt::format("{}: {}", group.name(), text.error().message), text.error().code};
}

}  // namespace corral::cgroup
