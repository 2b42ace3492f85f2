#include "daemon/driver_watch.h"

#include <sys/wait.h>

#include <csignal>

#include "cgroup/exit_info.h"
#include "cgroup/record.h"

namespace corral::daemon {
namespace {

run::Exit from_wait_status(int status) {
  run::Exit exit;
  exit.when = base::Moment::now();
  if (WIFEXITED(status)) {
    exit.exit = run::DriverExit::exited;
    exit.status = WEXITSTATUS(status);
  } else {
    exit.exit = WCOREDUMP(status) ? run::DriverExit::dumped : run::DriverExit::killed;
    exit.status = WTERMSIG(status);
  }
  return exit;
}

}  // namespace

std::optional<run::Members> read_members(const RunDirectory& directory) {
  auto group = directory.open();
  if (!group) return std::nullopt;
  auto text = cgroup::read_record(*group, run::kDriverXattr);
  if (!text || !*text) return std::nullopt;
  auto members = run::parse_members(**text);
  if (!members) return std::nullopt;
  return *members;
}

std::optional<cgroup::Pidfd> open_supervisor(const RunDirectory& directory) {
  const auto members = read_members(directory);
  if (!members) return std::nullopt;
  auto supervisor = cgroup::Pidfd::open(static_cast<pid_t>(members->supervisor.pid),
                                        members->supervisor.start_time);
  if (!supervisor) return std::nullopt;
  return std::move(*supervisor);
}

DriverWatch::DriverWatch(Loop& loop, Watcher& watcher, const Store& store,
                         std::chrono::microseconds bound, RunDirectory directory,
                         run::Invocation invocation, std::optional<cgroup::Pidfd> driver,
                         base::Callback<void(Departure)> departed)
    : loop_(loop),
      watcher_(watcher),
      store_(store),
      bound_(bound),
      directory_(std::move(directory)),
      invocation_(std::move(invocation)),
      driver_(std::move(driver)),
      departed_(std::move(departed)) {
  if (driver_) {
    exited_ = loop_.on_readable(driver_->fd(), [this] { await_record(); });
  } else {
    exited_ = loop_.soon([this] { await_record(); });
  }
}

const cgroup::Pidfd* DriverWatch::driver() const {
  return driver_ && !driver_->exited() ? &*driver_ : nullptr;
}

// The driver is dead; its record is there or on its way.
void DriverWatch::await_record() {
  exited_.reset();  // a dead process's pidfd stays readable
  if (auto exit = recorded()) return tell({*exit, ""});
  if (auto group = directory_.open()) {
    if (auto watch = watcher_.watch_attributes(*group, [this] { look(); }))
      record_watch_ = std::move(*watch);
  }
  overdue_ = loop_.after(bound_, [this] { ask_kernel("the exit was not recorded in time"); });
  supervisor_ = open_supervisor(directory_);
  if (supervisor_) {
    supervisor_exited_ = loop_.on_readable(supervisor_->fd(), [this] {
      supervisor_exited_.reset();
      look();
      ask_kernel("the supervisor died before it recorded the exit");
    });
  }
  look();  // it may have come before the watch
  if (!supervisor_) ask_kernel("the supervisor was gone when the driver exited");
}

void DriverWatch::look() {
  if (done_) return;
  if (auto exit = recorded()) tell({*exit, ""});
}

// Nobody of ours will say. The kernel does, as long as nobody has reaped the driver, and newer ones
// after that; between the two looks it may be reaped.
void DriverWatch::ask_kernel(const std::string& reason) {
  if (done_) return;
  if (!driver_) return tell_unknown(reason);
  auto status = cgroup::zombie_status(*driver_);
  if (!status) status = cgroup::exit_info(*driver_);
  if (status) return tell({from_wait_status(*status), ""});
  exited_ = loop_.on_hangup(driver_->fd(), [this, reason] {
    const auto late = cgroup::exit_info(*driver_);
    late ? tell({from_wait_status(*late), ""}) : tell_unknown(reason);
  });
  overdue_ = loop_.after(bound_, [this, reason] { tell_unknown(reason); });
}

void DriverWatch::tell_unknown(const std::string& reason) {
  tell({run::Exit{run::DriverExit::unknown, 0, base::Moment::now()}, reason});
}

void DriverWatch::tell(Departure departure) {
  if (done_) return;
  done_ = true;
  exited_.reset();
  supervisor_exited_.reset();
  overdue_.reset();
  record_watch_.reset();
  driver_.reset();
  supervisor_.reset();
  departed_(std::move(departure));
}

std::optional<run::Exit> DriverWatch::recorded() const {
  if (auto group = directory_.open()) {
    auto text = cgroup::read_record(*group, run::kExitXattr);
    if (text && *text) {
      if (auto exit = run::parse_exit(**text)) return *exit;
    }
  }
  return store_.read_exit(invocation_);
}

}  // namespace corral::daemon
