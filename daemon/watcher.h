#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/callback.h"
#include "base/result.h"
#include "cgroup/group.h"
#include "daemon/loop.h"

namespace corral::daemon {

// Word from the kernel about cgroup directories: that the events file of one changed (populated,
// frozen) or that an extended attribute of it was set. One inotify(7) instance, one watch a
// directory. An event only says "look again": it may come late (cgroup.events is rate-limited), and
// after an overflow everyone is told to look.
class Watcher {
 public:
  class Watch;

  static Result<std::unique_ptr<Watcher>> create(Loop& loop);
  ~Watcher();

  // `callback` runs for each event until the watch is destroyed. ENOSPC:
  // fs.inotify.max_user_watches is used up.
  //
  // Populated or frozen changed. It is the file that is watched: the kernel tells the watchers of
  // its directory only while somebody has had the file open (its inode is in the cache), and else
  // nobody.
  Result<Watch> watch_events(const cgroup::Group& group, base::Callback<void()> callback);
  // An extended attribute was set.
  Result<Watch> watch_attributes(const cgroup::Group& group, base::Callback<void()> callback);

 private:
  Watcher(Loop& loop, UniqueFd inotify);
  Result<Watch> watch(const std::string& path, uint32_t mask, const cgroup::Group& group,
                      base::Callback<void()> callback);
  void read_events();
  void tell(int descriptor);
  void tell_everyone();

  UniqueFd inotify_;
  std::unordered_map<int, std::unique_ptr<base::Callback<void()>>>
      callbacks_;  // by watch descriptor
  Source source_;
};

class Watcher::Watch {
 public:
  Watch() = default;
  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch() { reset(); }
  // Removes the watch: before rmdir(2), since a removed cgroup keeps it and says nothing.
  void reset();
  explicit operator bool() const { return watcher_ != nullptr; }

 private:
  friend class Watcher;
  Watch(Watcher& watcher, int descriptor) : watcher_(&watcher), descriptor_(descriptor) {}
  Watcher* watcher_ = nullptr;
  int descriptor_ = -1;
};

}  // namespace corral::daemon
