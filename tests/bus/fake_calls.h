#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dbus/calls.h"

namespace corral::bus {

inline const std::string kInvocation = "0123456789abcdef0123456789abcdef";

// A run as a test shows it: every field has a value of its own.
run::Status sample_status(const std::string& id = "r1",
                          const std::string& invocation = kInvocation);
run::Process sample_process();
dbus::RunName sample_name(const std::string& id = "r1");

// A service that does what the test says. What is not said is answered with the samples. `log` has
// the calls in order, as "StartRun r1". All of it belongs to the service's loop.
class FakeCalls final : public dbus::Calls {
 public:
  using Caller = dbus::Caller;

  std::vector<std::string> log;
  // Comes before every answer; may throw.
  std::function<void(const Caller&)> before;
  std::function<void(const Caller&, run::Spec, dbus::Reply<dbus::RunName>)> on_start;
  std::function<run::Answer<dbus::OpenedRun>(run::Spec)> on_open;
  std::function<void(const Caller&, const dbus::RunRef&, dbus::EndOptions,
                     dbus::Reply<run::Report>)>
      on_end;
  std::function<void(const Caller&, dbus::EndRunsOptions, dbus::Reply<std::vector<dbus::EndedRow>>)>
      on_end_runs;
  std::function<run::Answer<void>(const dbus::SetOptions&)> on_set;
  std::function<run::Answer<UniqueFd>()> on_lease;
  std::function<void(const Caller&, dbus::Reply<run::Status>)> on_wait;
  std::function<run::Answer<run::Report>()> on_report;
  std::function<run::Answer<std::vector<run::Process>>(const dbus::ProcessFilter&)> on_rows;
  std::function<run::Answer<void>()> on_act;
  std::function<run::Answer<dbus::RunName>(uint32_t pid)> on_name;
  std::function<run::Answer<std::vector<const run::Status*>>(const dbus::RunFilter&)> on_list;
  std::function<dbus::ManagerProperties()> on_manager;
  std::function<uint32_t()> on_descendants;
  run::Policy policy;  // of a start that says nothing of it

  void start_run(const Caller& caller, run::Spec spec, dbus::Reply<dbus::RunName> reply) override;
  run::Answer<dbus::OpenedRun> open_run(const Caller& caller, run::Spec spec) override;
  run::Answer<void> attach(const Caller& caller, const run::Invocation& run, uint32_t pid) override;
  run::Answer<void> report_exit(const Caller& caller, const run::Invocation& run,
                                run::DriverExit exit, int32_t status) override;
  void end_run(const Caller& caller, const dbus::RunRef& ref, dbus::EndOptions options,
               dbus::Reply<run::Report> reply) override;
  void end_runs(const Caller& caller, dbus::EndRunsOptions options,
                dbus::Reply<std::vector<dbus::EndedRow>> reply) override;
  void freeze_run(const Caller& caller, const dbus::RunRef& ref, bool frozen,
                  dbus::Reply<void> reply) override;
  run::Answer<void> set_run(const Caller& caller, const dbus::RunRef& ref,
                            dbus::SetOptions options) override;
  run::Answer<void> renew_lease(const Caller& caller, const dbus::RunRef& ref,
                                std::chrono::microseconds ttl) override;
  run::Answer<UniqueFd> acquire_lease(const Caller& caller, const dbus::RunRef& ref,
                                      std::string who, std::string why) override;
  void adopt_processes(const Caller& caller, run::Spec spec, std::vector<uint32_t> pids,
                       dbus::Reply<dbus::RunName> reply) override;
  run::Answer<dbus::RunName> release(const Caller& caller, const run::Invocation& run,
                                     std::vector<uint32_t> pids) override;
  run::Answer<void> set_enforcement(const Caller& caller, run::Enforcement value) override;
  void wait_run(const Caller& caller, const dbus::RunRef& ref, dbus::WaitOptions options,
                dbus::Reply<run::Status> reply) override;
  run::Answer<run::Report> get_report(const Caller& caller, const dbus::RunRef& ref) override;
  run::Answer<void> signal_run(const Caller& caller, const dbus::RunRef& ref, dbus::Whom whom,
                               int signal) override;
  run::Answer<dbus::RunName> get_run(const dbus::RunRef& ref) override;
  run::Answer<dbus::RunName> get_run_by_pid(const Caller& caller, uint32_t pid) override;
  run::Answer<std::vector<const run::Status*>> list_runs(const Caller& caller,
                                                         const dbus::RunFilter& filter) override;
  run::Answer<std::vector<run::Process>> list_processes(const Caller& caller,
                                                        const dbus::ProcessFilter& filter) override;
  run::Answer<std::vector<run::Process>> list_leaks(const Caller& caller,
                                                    const dbus::ProcessFilter& filter) override;
  run::Answer<void> forget_run(const Caller& caller, const dbus::RunRef& ref) override;
  dbus::ManagerProperties manager_properties() override;
  run::Policy default_policy() override { return policy; }
  std::vector<dbus::ConfigurationRow> configuration() override;
  uint32_t descendants(const run::Invocation& invocation) override;

 private:
  void called(const char* name, const std::string& id, const Caller& caller);
  run::Answer<std::vector<run::Process>> rows(const dbus::ProcessFilter& filter);

  run::Status sample_ = sample_status();
};

}  // namespace corral::bus
