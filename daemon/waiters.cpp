#include "daemon/waiters.h"

#include <utility>

namespace corral::daemon {

bool reached(const run::Status& status, dbus::Until until) {
  const bool ended = status.report.state == run::State::ended;
  if (until == dbus::Until::driver)
    return ended || status.report.driver_exit != run::DriverExit::none;
  return ended || (until == dbus::Until::settled && status.report.state == run::State::holding);
}

void Waiters::for_end(dbus::Reply<run::Report> reply) {
  ends_.push_back(std::move(reply));
}

void Waiters::for_state(const run::Status& status, dbus::WaitOptions options,
                        dbus::Reply<run::Status> reply) {
  if (reached(status, options.until)) return reply(status);
  states_.push_back({options.until, std::move(reply), {}});
  const auto wait = std::prev(states_.end());
  wait->overdue = loop_.after(options.timeout, [this, wait, &status] {
    auto answer = std::move(wait->reply);
    states_.erase(wait);
    answer(status);
  });
}

void Waiters::look(const run::Status& status) {
  std::list<StateWait> due;
  for (auto wait = states_.begin(); wait != states_.end();) {
    const auto here = wait++;
    if (reached(status, here->until)) due.splice(due.end(), states_, here);
  }
  for (auto& wait : due) wait.reply(status);
}

void Waiters::ended(const run::Status& status) {
  look(status);
  for (auto& reply : std::exchange(ends_, {})) reply(status.report);
}

void Waiters::fail_ends(const run::Fault& fault) {
  for (auto& reply : std::exchange(ends_, {})) reply(tl::unexpected(fault));
}

}  // namespace corral::daemon
