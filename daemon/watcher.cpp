#include "daemon/watcher.h"

#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/log.h"

namespace corral::daemon {

Result<std::unique_ptr<Watcher>> Watcher::create(Loop& loop) {
  UniqueFd fd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!fd) return failed(errno, "inotify_init1");
  return std::unique_ptr<Watcher>(new Watcher(loop, std::move(fd)));
}

Watcher::Watcher(Loop& loop, UniqueFd inotify) : inotify_(std::move(inotify)) {
  source_ = loop.on_readable(inotify_.get(), [this] { read_events(); });
}

Watcher::~Watcher() = default;

// inotify takes paths only; these lead through the directory that we hold, whatever its name means
// by now.
Result<Watcher::Watch> Watcher::watch_events(const cgroup::Group& group,
                                             base::Callback<void()> callback) {
  return watch(fmt::format("/proc/self/fd/{}/cgroup.events", group.fd()), IN_MODIFY, group,
               std::move(callback));
}

Result<Watcher::Watch> Watcher::watch_attributes(const cgroup::Group& group,
                                                 base::Callback<void()> callback) {
  return watch(fmt::format("/proc/self/fd/{}", group.fd()), IN_ATTRIB | IN_ONLYDIR, group,
               std::move(callback));
}

Result<Watcher::Watch> Watcher::watch(const std::string& path, uint32_t mask,
                                      const cgroup::Group& group, base::Callback<void()> callback) {
  const int descriptor = inotify_add_watch(inotify_.get(), path.c_str(), mask);
  if (descriptor < 0) return failed(errno, fmt::format("inotify_add_watch {}", group.name()));
  callbacks_[descriptor] = std::make_unique<base::Callback<void()>>(std::move(callback));
  return Watch(*this, descriptor);
}

void Watcher::read_events() {
  alignas(inotify_event) char buffer[16384];
  std::vector<int> told;  // many events of one directory are one reason to look
  for (;;) {
    const ssize_t size = read(inotify_.get(), buffer, sizeof buffer);
    if (size <= 0) break;
    for (ssize_t at = 0; at < size;) {
      inotify_event event{};
      std::memcpy(&event, buffer + at, sizeof event);
      at += static_cast<ssize_t>(sizeof event + event.len);
      if ((event.mask & IN_Q_OVERFLOW) != 0) return tell_everyone();
      if (std::ranges::find(told, event.wd) == told.end()) told.push_back(event.wd);
    }
  }
  for (const int descriptor : told) tell(descriptor);
}

void Watcher::tell(int descriptor) {
  const auto found = callbacks_.find(descriptor);
  if (found == callbacks_.end()) return;  // an earlier callback ended this watch
  // Moved out while it runs: it may end its own watch.
  auto callback = std::move(found->second);
  if (callback != nullptr) fenced(*callback);
  const auto again = callbacks_.find(descriptor);
  if (again != callbacks_.end() && again->second == nullptr) again->second = std::move(callback);
}

void Watcher::tell_everyone() {
  log(Level::warning, "inotify queue overflow: looking at every run again");
  std::vector<int> descriptors;
  for (const auto& [descriptor, callback] : callbacks_) descriptors.push_back(descriptor);
  for (const int descriptor : descriptors) tell(descriptor);
}

Watcher::Watch::Watch(Watch&& other) noexcept
    : watcher_(std::exchange(other.watcher_, nullptr)), descriptor_(other.descriptor_) {}

Watcher::Watch& Watcher::Watch::operator=(Watch&& other) noexcept {
  if (this != &other) {
    reset();
    watcher_ = std::exchange(other.watcher_, nullptr);
    descriptor_ = other.descriptor_;
  }
  return *this;
}

void Watcher::Watch::reset() {
  if (watcher_ == nullptr) return;
  (void)inotify_rm_watch(watcher_->inotify_.get(),
                         descriptor_);  // may be gone with its directory already
  watcher_->callbacks_.erase(descriptor_);
  watcher_ = nullptr;
}

}  // namespace corral::daemon
