#include "cgroup/janitor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "cgroup/walk.h"

namespace corral::cgroup {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kFirstPause{1};
constexpr milliseconds kLongestPause{250};

// Never unlink(2): all that may be removed is an empty directory.
Result<Removed> remove_one(int parent, const std::string& name) {
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0) return Removed::yes;
  if (errno == ENOENT || errno == ENODEV) return Removed::gone;
  if (errno == EBUSY) return Removed::busy;
  return failed(errno, fmt::format("rmdir {}", name));
}

bool is_still(int parent, const std::string& name, uint64_t id) {
  struct stat status {};
  return fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_ino == id;
}

}  // namespace

Result<Removed> remove_tree(int parent, const std::string& name, uint64_t id) {
  {
    const auto top = Group::open(parent, name);
    if (!top && is_gone(top.error())) return Removed::gone;
    if (!top) return top.error();
    if (top->id() != id) return Removed::gone;  // another has taken the name
    // What is busy below does not keep its siblings: the top's own rmdir(2) then says busy.
    const auto emptied = each_group(
        *top, [](const Group&, const std::string&) { return Result<void>{}; },
        [](const Group& above, const std::string& below) -> Result<void> {
          const auto removed = remove_one(above.fd(), below);
          return removed ? Result<void>{} : removed.error();
        });
    if (!emptied) return emptied.error();
  }
  // Once more, as close to the rmdir(2) as can be: there is none that takes an fd.
  return is_still(parent, name, id) ? remove_one(parent, name) : Removed::gone;
}

Janitor::Janitor(std::chrono::microseconds bound)
    : bound_(bound), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
  // A thread inherits the mask: signals are for the threads that wait for them.
  sigset_t all{}, before{};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Janitor::~Janitor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Janitor::remove(int parent, std::string name, uint64_t id) {
  const auto now = steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({parent, std::move(name), id, kFirstPause, now + bound_, now});
  }
  changed_.notify_one();
}

std::vector<Janitor::Outcome> Janitor::take() {
  const std::lock_guard lock(mutex_);
  uint64_t wakes = 0;
  (void)read(wake_.get(), &wakes, sizeof wakes);  // EAGAIN: nothing was to be taken
  return std::exchange(outcomes_, {});
}

// Waits for the job whose next try is due first; nullopt when all is done and the owner wants to
// go.
std::optional<Janitor::Job> Janitor::next_job() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (jobs_.empty() && stopping_) return std::nullopt;
    const auto first = std::min_element(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) {
      return a.next_try < b.next_try;
    });
    if (first == jobs_.end()) {
      changed_.wait(lock);
    } else if (const auto due = first->next_try; due > steady_clock::now()) {
      changed_.wait_until(lock, due);
    } else {
      Job job = std::move(*first);
      jobs_.erase(first);
      return job;
    }
  }
}

void Janitor::work() {
  while (auto job = next_job()) {
    const auto removed = remove_tree(job->parent, job->name, job->id);
    const auto now = steady_clock::now();
    const bool done = removed && *removed != Removed::busy;
    if (done || now >= job->deadline) {
      finish(*job, removed);
      continue;
    }
    job->next_try = std::min(now + job->pause, job->deadline);
    job->pause = std::min(job->pause * 2, kLongestPause);
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(*job));
  }
}

void Janitor::finish(const Job& job, const Result<Removed>& removed) {
  const std::lock_guard lock(mutex_);
  outcomes_.push_back(
      {job.name, removed ? *removed : Removed::busy, removed ? "" : removed.error().message});
  const uint64_t one = 1;
  (void)write(wake_.get(), &one, sizeof one);  // cannot fail below 2^64 - 1 outcomes
}

}  // namespace corral::cgroup
