#include "dbus/run_object.h"

#include <fmt/format.h>
#include <sdbus-c++/Error.h>

#include "base/escape.h"
#include "dbus/fit.h"
#include "dbus/guard.h"
#include "dbus/paths.h"
#include "dbus/requests.h"
#include "dbus/wire.h"

namespace corral::dbus {
namespace {

// A last defence: one string that is not UTF-8 would fail every GetAll.
std::string text(const std::string& raw) {
  return base::is_utf8(raw) ? raw : base::escape(raw);
}

template <typename Enum>
std::string text(Enum value) requires std::is_enum_v<Enum> {
  return std::string(run::word(value));
}

}  // namespace

RunObject::RunObject(sdbus::IConnection& connection, Incoming& incoming, Calls& calls,
                     const run::Status& status)
    : AdaptorInterfaces(connection, run_path(status.report.id, status.report.invocation)),
      incoming_(incoming),
      calls_(calls),
      status_(&status) {
  registerAdaptor();
}

RunObject::~RunObject() {
  unregisterAdaptor();
}

void RunObject::emit_changed(const std::vector<std::string>& properties) {
  getObject().emitPropertiesChangedSignal(INTERFACE_NAME, properties);
}

const run::Status& RunObject::status() const {
  if (status_ != nullptr) return *status_;
  throw sdbus::Error("org.freedesktop.DBus.Error.UnknownObject",
                     fmt::format("{}: the run was forgotten", getObjectPath()));
}

run::Invocation RunObject::invocation() const {
  return *run::Invocation::parse(status().report.invocation);
}

void RunObject::Attach(sdbus::Result<>&&, uint32_t pid) {
  incoming_.receive(
      *getObject().getCurrentlyProcessedMessage(), "Attach", Needs::identity,
      [&calls = calls_, run = invocation(), pid](OpenCall& call, const Caller& caller) {
        reply(call, calls.attach(caller, run, pid));
      });
}

void RunObject::ReportExit(sdbus::Result<>&&, std::string exit, int32_t status) {
  incoming_.receive(
      *getObject().getCurrentlyProcessedMessage(), "ReportExit", Needs::identity,
      [&calls = calls_, run = invocation(), exit, status](OpenCall& call, const Caller& caller) {
        const auto word = exit_request(exit, status);
        if (!word) return call.refuse(word.error());
        reply(call, calls.report_exit(caller, run, *word, status));
      });
}

void RunObject::Release(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&&,
                        std::vector<uint32_t> pids) {
  incoming_.receive(*getObject().getCurrentlyProcessedMessage(), "Release", Needs::identity,
                    [&calls = calls_, run = invocation(), pids = std::move(pids)](
                        OpenCall& call, const Caller& caller) mutable {
                      auto checked = release_request(std::move(pids));
                      if (!checked) return call.refuse(checked.error());
                      reply_name(call, calls.release(caller, run, std::move(*checked)));
                    });
}

std::string RunObject::Id() {
  return text(status().report.id);
}
std::string RunObject::Invocation() {
  return text(status().report.invocation);
}
std::string RunObject::Owner() {
  return text(status().report.owner);
}
uint32_t RunObject::OwnerUID() {
  return status().report.owner_uid;
}
std::string RunObject::Description() {
  return text(status().description);
}
std::map<std::string, std::string> RunObject::Labels() {
  return status().labels;
}
std::string RunObject::Kind() {
  return text(status().report.kind);
}
std::string RunObject::State() {
  return text(status().report.state);
}
std::string RunObject::Result() {
  return text(status().report.result);
}
std::string RunObject::EndReason() {
  return text(status().report.end_reason);
}
std::string RunObject::EndMessage() {
  return text(status().report.end_message);
}
std::string RunObject::EndedBy() {
  return text(status().report.ended_by);
}
std::string RunObject::Placement() {
  (void)status();
  return kPlacement;
}
std::string RunObject::ControlGroup() {
  return text(status().control_group);
}
uint64_t RunObject::ControlGroupId() {
  return status().control_group_id;
}
std::string RunObject::Enforcement() {
  return text(status().report.enforcement);
}
std::string RunObject::Containment() {
  return text(status().report.containment);
}
uint32_t RunObject::DriverPID() {
  return status().driver_pid;
}
std::string RunObject::DriverExit() {
  return text(status().report.driver_exit);
}
int32_t RunObject::DriverStatus() {
  return status().report.driver_status;
}
uint32_t RunObject::Descendants() {
  return guarded("Descendants", [this] {
    const auto invocation = run::Invocation::parse(status().report.invocation);
    return invocation ? calls_.descendants(*invocation) : 0;
  });
}
bool RunObject::Frozen() {
  return status().frozen;
}
uint32_t RunObject::Leaks() {
  return count32(status().report.leaks_found);
}
uint32_t RunObject::Stuck() {
  return count32(status().report.stuck);
}
sdbus::ObjectPath RunObject::Parent() {
  return parent_path(status());
}
uint64_t RunObject::StartTimestamp() {
  return status().report.start.realtime_usec;
}
uint64_t RunObject::StartTimestampMonotonic() {
  return status().report.start.monotonic_usec;
}
uint64_t RunObject::DriverExitTimestamp() {
  return status().report.driver_exited.realtime_usec;
}
uint64_t RunObject::DriverExitTimestampMonotonic() {
  return status().report.driver_exited.monotonic_usec;
}
uint64_t RunObject::EndTimestamp() {
  return status().report.end.realtime_usec;
}
uint64_t RunObject::EndTimestampMonotonic() {
  return status().report.end.monotonic_usec;
}
std::string RunObject::OnDriverExit() {
  return text(status().policy.on_driver_exit);
}
uint64_t RunObject::SettleUSec() {
  return static_cast<uint64_t>(status().policy.settle.count());
}
uint64_t RunObject::GraceUSec() {
  return static_cast<uint64_t>(status().policy.grace.count());
}
uint64_t RunObject::RuntimeMaxUSec() {
  return limit(status().policy.runtime_max);
}
uint64_t RunObject::HoldMaxUSec() {
  return limit(status().policy.hold_max);
}
uint64_t RunObject::LeaseUSec() {
  return limit(status().policy.lease);
}
std::vector<std::string> RunObject::Keep() {
  return status().policy.keep;
}
std::vector<std::string> RunObject::Leases() {
  std::vector<std::string> leases;
  for (const auto& lease : status().leases) leases.push_back(text(lease));
  return leases;
}

}  // namespace corral::dbus
