#include "cli/connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace corral::cli {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

void Service::Connection::watch(int fd, base::Callback<void()> ready) {
  watches_.push_back({fd, std::move(ready)});
}

void Service::Connection::every(milliseconds period, base::Callback<void()> tick) {
  period_ = period;
  tick_ = std::move(tick);
  next_tick_ = steady_clock::now() + period;
}

int Service::Connection::poll_timeout(int bus_timeout) const {
  if (!tick_) return bus_timeout;
  const auto left = std::chrono::ceil<milliseconds>(next_tick_ - steady_clock::now());
  const int mine = static_cast<int>(std::max<int64_t>(left.count(), 0));
  return bus_timeout < 0 ? mine : std::min(mine, bus_timeout);
}

void Service::Connection::turn() {
  const auto data = bus_->getEventLoopPollData();
  std::vector<pollfd> fds{{data.fd, data.events, 0}};
  for (const Watch& watch : watches_) fds.push_back({watch.fd, POLLIN, 0});
  const int count = poll(fds.data(), fds.size(), poll_timeout(data.getPollTimeout()));
  if (count < 0 && errno != EINTR) throw sdbus::createError(errno, "wait for the bus");
  while (bus_->processPendingRequest()) continue;
  for (size_t i = 0; count > 0 && i < watches_.size(); ++i)
    if (fds[i + 1].revents != 0) watches_[i].ready();
  if (tick_ && steady_clock::now() >= next_tick_) {
    next_tick_ = steady_clock::now() + period_;
    tick_();
  }
}

}  // namespace corral::cli
