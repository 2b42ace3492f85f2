#pragma once

#include <sdbus-c++/AdaptorInterfaces.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/callback.h"
#include "dbus/calls.h"
#include "dbus/incoming.h"
#include "dbus/manager_adaptor.h"

namespace corral::dbus {

// The object at kManagerPath: each method reads its arguments, learns who calls, asks Calls and
// writes what it answers. The generated results are left unused: replies are written straight into
// the message (wire.h).
class ManagerObject final : public sdbus::AdaptorInterfaces<org::corral::Corral1::Manager_adaptor> {
 public:
  ManagerObject(sdbus::IConnection& connection, Incoming& incoming, Calls& calls);
  virtual ~ManagerObject();

  void emit_changed(const std::vector<std::string>& properties);

 private:
  using Variants = std::map<std::string, sdbus::Variant>;

  void freeze(const char* name, std::string id, Variants options, bool frozen);
  void receive(const char* name, Needs needs, Incoming::Body body);

  void StartRun(sdbus::Result<sdbus::ObjectPath, std::string>&& result, std::string id,
                std::vector<std::string> argv, Variants options) override;
  void OpenRun(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&& result, std::string id,
               Variants options) override;
  void EndRun(sdbus::Result<Variants>&& result, std::string id, Variants options) override;
  void EndRuns(sdbus::Result<std::vector<Variants>>&& result, Variants options) override;
  void FreezeRun(sdbus::Result<>&& result, std::string id, Variants options) override;
  void ThawRun(sdbus::Result<>&& result, std::string id, Variants options) override;
  void SetRun(sdbus::Result<>&& result, std::string id, Variants options) override;
  void RenewLease(sdbus::Result<>&& result, std::string id, uint64_t ttl_usec) override;
  void AcquireLease(sdbus::Result<sdbus::UnixFd>&& result, std::string id, std::string who,
                    std::string why) override;
  void AdoptProcesses(sdbus::Result<sdbus::ObjectPath, std::string>&& result, std::string id,
                      std::vector<uint32_t> pids, Variants options) override;
  void SetEnforcement(sdbus::Result<>&& result, std::string enforcement) override;
  void WaitRun(sdbus::Result<Variants>&& result, std::string id, Variants options) override;
  void GetReport(sdbus::Result<Variants>&& result, std::string id, Variants options) override;
  void SignalRun(sdbus::Result<>&& result, std::string id, std::string whom, int32_t signal,
                 Variants options) override;
  void GetRun(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&& result,
              std::string id) override;
  void GetRunByPID(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&& result,
                   uint32_t pid) override;
  void ListRuns(sdbus::Result<std::vector<sdbus::Struct<std::string, std::string, sdbus::ObjectPath,
                                                        std::string, Variants>>>&& result,
                Variants options) override;
  void ListProcesses(sdbus::Result<std::vector<Variants>>&& result, Variants options) override;
  void ListLeaks(sdbus::Result<std::vector<Variants>>&& result, Variants options) override;
  void ForgetRun(sdbus::Result<>&& result, std::string id, Variants options) override;

  void GetConfiguration(
      sdbus::Result<
          std::vector<sdbus::Struct<std::string, std::string, std::string, std::string>>>&& result)
      override;

  std::string Version() override;
  std::vector<std::string> Features() override;
  std::string BootId() override;
  std::string Enforcement() override;
  uint32_t Runs() override;
  uint32_t Leaks() override;

  Incoming& incoming_;
  Calls& calls_;
};

}  // namespace corral::dbus
