#pragma once

#include <sdbus-c++/AdaptorInterfaces.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dbus/calls.h"
#include "dbus/incoming.h"
#include "dbus/run_adaptor.h"
#include "run/status.h"

namespace corral::dbus {

// A run's object: properties read from a borrowed status. Not to be destroyed inside a call on it:
// forget() first, and destroy it later.
class RunObject final : public sdbus::AdaptorInterfaces<org::corral::Corral1::Run_adaptor> {
 public:
  RunObject(sdbus::IConnection& connection, Incoming& incoming, Calls& calls,
            const run::Status& status);
  virtual ~RunObject();

  // From here on every call is answered with UnknownObject, and the status is not touched.
  void forget() { status_ = nullptr; }
  void emit_changed(const std::vector<std::string>& properties);

 private:
  // The status, or the sdbus::Error of a run that was forgotten.
  const run::Status& status() const;

  // The invocation, once a call on it may be answered.
  run::Invocation invocation() const;

  void Attach(sdbus::Result<>&& result, uint32_t pid) override;
  void ReportExit(sdbus::Result<>&& result, std::string exit, int32_t status) override;

  void Release(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&& result,
               std::vector<uint32_t> pids) override;

  std::string Id() override;
  std::string Invocation() override;
  std::string Owner() override;
  uint32_t OwnerUID() override;
  std::string Description() override;
  std::map<std::string, std::string> Labels() override;
  std::string Kind() override;
  std::string State() override;
  std::string Result() override;
  std::string EndReason() override;
  std::string EndMessage() override;
  std::string EndedBy() override;
  std::string Placement() override;
  std::string ControlGroup() override;
  uint64_t ControlGroupId() override;
  std::string Enforcement() override;
  std::string Containment() override;
  uint32_t DriverPID() override;
  std::string DriverExit() override;
  int32_t DriverStatus() override;
  uint32_t Descendants() override;
  bool Frozen() override;
  uint32_t Leaks() override;
  uint32_t Stuck() override;
  sdbus::ObjectPath Parent() override;
  uint64_t StartTimestamp() override;
  uint64_t StartTimestampMonotonic() override;
  uint64_t DriverExitTimestamp() override;
  uint64_t DriverExitTimestampMonotonic() override;
  uint64_t EndTimestamp() override;
  uint64_t EndTimestampMonotonic() override;
  std::string OnDriverExit() override;
  uint64_t SettleUSec() override;
  uint64_t GraceUSec() override;
  uint64_t RuntimeMaxUSec() override;
  uint64_t HoldMaxUSec() override;
  uint64_t LeaseUSec() override;
  std::vector<std::string> Keep() override;
  std::vector<std::string> Leases() override;

  Incoming& incoming_;
  Calls& calls_;
  const run::Status* status_;
};

}  // namespace corral::dbus
