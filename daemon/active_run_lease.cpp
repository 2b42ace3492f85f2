#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/active_run.h"
#include "daemon/due.h"

namespace corral::daemon {

// What bounds a run's life from outside: its deadline and its leases.

void ActiveRun::arm_deadline() {
  deadline_.reset();
  const auto most = status_.policy.runtime_max;
  if (!most) return;
  const auto due = record_.start.monotonic_usec + static_cast<uint64_t>(most->count());
  deadline_ = around_.loop.after(left_until(due), [this] {
    if (phase_ != run::Phase::running) return;
    end({.grace = {},
         .message = "RuntimeMaxUSec is over",
         .by = {},
         .reason = run::EndReason::deadline});
  });
}

// From the moment that it is known: while no service was there nobody could renew it.
void ActiveRun::arm_lease() {
  lease_over_.reset();
  if (!status_.policy.lease) return;
  lease_over_ = around_.loop.after(*status_.policy.lease, [this] {
    (void)renew_lease(std::chrono::microseconds{0});  // it is gone; only the record keeps it
    if (leases_.empty()) lease_lost();
  });
}

Result<void> ActiveRun::amend(run::Record record) {
  auto written = directory_.write_record(run::kRecordXattr, run::to_json(record));
  if (!written) return written.error();
  auto stub = around_.store.write_stub(record);
  record_ = std::move(record);
  status_.policy = record_.policy;
  status_.description = record_.description;
  status_.labels = record_.labels;
  status_.report.owner = record_.owner;
  if (phase_ == run::Phase::running) arm_deadline();
  return stub;
}

Result<void> ActiveRun::renew_lease(std::chrono::microseconds ttl) {
  const auto wanted = ttl.count() > 0 ? std::optional(ttl) : std::nullopt;
  if (wanted != record_.policy.lease) {
    auto record = record_;
    record.policy.lease = wanted;
    if (auto amended = amend(std::move(record)); !amended) return amended;
  }
  arm_lease();
  return {};
}

Result<UniqueFd> ActiveRun::acquire_lease(std::string text) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return failed(errno, "make a pipe for the lease");
  auto lease = std::make_unique<Lease>();
  lease->end = UniqueFd{ends[0]};
  UniqueFd holder{ends[1]};
  lease->text = std::move(text);
  lease->closed =
      around_.loop.on_hangup(lease->end.get(), [this, end = &lease->end] { lease_closed(end); });
  status_.leases.push_back(lease->text);
  leases_.push_back(std::move(lease));
  return holder;
}

void ActiveRun::lease_closed(const UniqueFd* end) {
  std::erase_if(leases_, [&](const auto& lease) { return &lease->end == end; });
  status_.leases.clear();
  for (const auto& lease : leases_) status_.leases.push_back(lease->text);
  observer_.run_changed(*this);
  if (leases_.empty() && !status_.policy.lease) lease_lost();
}

// What is known of the owner is that it let the last one go.
void ActiveRun::lease_lost() {
  if (phase_ != run::Phase::starting && phase_ != run::Phase::running) return;
  end({.grace = {},
       .message = "the last lease was lost",
       .by = {},
       .reason = run::EndReason::lease_lost});
}

}  // namespace corral::daemon
