#include "daemon/syncer.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/log.h"

namespace corral::daemon {

Syncer::Syncer(UniqueFd directory, std::chrono::microseconds delay)
    : directory_(std::move(directory)), delay_(delay) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread inherits it: signals are the loop's
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Syncer::~Syncer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Syncer::changed() {
  {
    const std::lock_guard lock(mutex_);
    if (dirty_) return;
    dirty_ = true;
  }
  wake_.notify_one();
}

void Syncer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return dirty_ || stopping_; });
    if (!dirty_) return;
    wake_.wait_for(lock, delay_, [this] { return stopping_; });  // gather what else changes
    dirty_ = false;
    lock.unlock();
    if (syncfs(directory_.get()) < 0)
      log(Level::warning, "sync the state directory: {}", failed(errno, "syncfs").message);
    lock.lock();
  }
}

}  // namespace corral::daemon
