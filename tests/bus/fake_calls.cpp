#include <fcntl.h>

#include "bus/fake_calls.h"

#include <utility>

namespace corral::bus {

using dbus::ProcessFilter;
using dbus::Reply;
using dbus::RunName;
using dbus::RunRef;
using run::Answer;

run::Process sample_process() {
  run::Process process;
  process.run = "r1";
  process.invocation = kInvocation;
  process.pid = 17;
  process.start_timestamp = 1;
  process.uid = 1000;
  process.comm = "node";
  process.exe = "/usr/bin/node";
  process.argv = {"node", "server.js"};
  process.state = "S";
  process.ppid = 1;
  process.pgid = process.sid = 17;
  process.control_group = "/r1/work";
  process.rss = 4096;
  process.cpu_usec = 5;
  process.age_usec = 6;
  process.detached = run::Detached::own_session;
  process.listening = {"tcp:127.0.0.1:5173"};
  process.outcome = run::Outcome::term;
  return process;
}

run::Status sample_status(const std::string& id, const std::string& invocation) {
  run::Status status;
  status.report.id = id;
  status.report.invocation = invocation;
  status.report.owner = "pi";
  status.report.owner_uid = 1000;
  status.report.state = run::State::running;
  status.report.result = run::RunResult::exit_code;
  status.report.end_reason = run::EndReason::driver_exited;
  status.report.end_message = "message";
  status.report.ended_by = "uid 0";
  status.report.driver_exit = run::DriverExit::exited;
  status.report.driver_status = 7;
  status.report.start = {11, 12};
  status.report.driver_exited = {13, 14};
  status.report.end = {15, 16};
  status.report.leaks_found = 3;
  status.report.stuck = 2;
  status.report.cpu_usec = 99;
  status.report.leaks = {sample_process()};
  status.description = "text";
  status.labels = {{"key", "value"}};
  status.control_group = "/corral/r1";
  status.control_group_id = 77;
  status.driver_pid = 4711;
  status.frozen = true;
  return status;
}

RunName sample_name(const std::string& id) {
  return {run::RunId::parse(id).value(), run::Invocation::parse(kInvocation).value()};
}

void FakeCalls::called(const char* name, const std::string& id, const Caller& caller) {
  log.push_back(std::string(name) + " " + id);
  if (before) before(caller);
}

void FakeCalls::start_run(const Caller& caller, run::Spec spec, Reply<RunName> reply) {
  called("StartRun", spec.id.text(), caller);
  if (on_start) return on_start(caller, std::move(spec), std::move(reply));
  reply(sample_name(spec.id.text()));
}

run::Answer<dbus::OpenedRun> FakeCalls::open_run(const Caller& caller, run::Spec spec) {
  called("OpenRun", spec.id.text(), caller);
  if (on_open) return on_open(std::move(spec));
  return dbus::OpenedRun{sample_name(spec.id.text()), "/sys/fs/cgroup/r1"};
}

run::Answer<void> FakeCalls::attach(const Caller& caller, const run::Invocation& run,
                                    uint32_t pid) {
  called("Attach", run.text() + " " + std::to_string(pid), caller);
  return on_act ? on_act() : run::Answer<void>();
}

run::Answer<void> FakeCalls::report_exit(const Caller& caller, const run::Invocation& run,
                                         run::DriverExit exit, int32_t status) {
  called("ReportExit",
         run.text() + " " + std::string(run::word(exit)) + " " + std::to_string(status), caller);
  return on_act ? on_act() : run::Answer<void>();
}

void FakeCalls::end_run(const Caller& caller, const RunRef& ref, dbus::EndOptions options,
                        Reply<run::Report> reply) {
  called("EndRun", ref.id.text(), caller);
  if (on_end) return on_end(caller, ref, std::move(options), std::move(reply));
  reply(sample_.report);
}

void FakeCalls::end_runs(const Caller& caller, dbus::EndRunsOptions options,
                         Reply<std::vector<dbus::EndedRow>> reply) {
  called("EndRuns", "", caller);
  if (on_end_runs) return on_end_runs(caller, std::move(options), std::move(reply));
  reply(std::vector<dbus::EndedRow>{{.name = sample_name(),
                                     .state = run::State::holding,
                                     .processes = 3,
                                     .outcome = "would-end",
                                     .message = ""}});
}

void FakeCalls::freeze_run(const Caller& caller, const RunRef& ref, bool frozen,
                           Reply<void> reply) {
  called(frozen ? "FreezeRun" : "ThawRun", ref.id.text(), caller);
  reply(on_act ? on_act() : Answer<void>{});
}

Answer<void> FakeCalls::set_run(const Caller& caller, const RunRef& ref, dbus::SetOptions options) {
  called("SetRun", ref.id.text(), caller);
  if (on_set) return on_set(options);
  return on_act ? on_act() : Answer<void>{};
}

Answer<void> FakeCalls::renew_lease(const Caller& caller, const RunRef& ref,
                                    std::chrono::microseconds ttl) {
  called("RenewLease", ref.id.text() + " " + std::to_string(ttl.count()), caller);
  return on_act ? on_act() : Answer<void>{};
}

Answer<UniqueFd> FakeCalls::acquire_lease(const Caller& caller, const RunRef& ref, std::string who,
                                          std::string why) {
  called("AcquireLease", ref.id.text() + " " + who + " " + why, caller);
  if (on_lease) return on_lease();
  return UniqueFd{open("/dev/null", O_RDONLY | O_CLOEXEC)};
}

void FakeCalls::adopt_processes(const Caller& caller, run::Spec spec, std::vector<uint32_t> pids,
                                Reply<RunName> reply) {
  called("AdoptProcesses", spec.id.text() + " " + std::to_string(pids.size()), caller);
  reply(sample_name(spec.id.text()));
}

Answer<RunName> FakeCalls::release(const Caller& caller, const run::Invocation& run,
                                   std::vector<uint32_t> pids) {
  called("Release", run.text() + " " + std::to_string(pids.size()), caller);
  return on_name ? on_name(0) : sample_name();
}

Answer<void> FakeCalls::set_enforcement(const Caller& caller, run::Enforcement value) {
  called("SetEnforcement", std::string(run::word(value)), caller);
  return on_act ? on_act() : Answer<void>{};
}

void FakeCalls::wait_run(const Caller& caller, const RunRef& ref, dbus::WaitOptions,
                         Reply<run::Status> reply) {
  called("WaitRun", ref.id.text(), caller);
  if (on_wait) return on_wait(caller, std::move(reply));
  reply(sample_);
}

Answer<run::Report> FakeCalls::get_report(const Caller& caller, const RunRef& ref) {
  called("GetReport", ref.id.text(), caller);
  return on_report ? on_report() : sample_.report;
}

Answer<void> FakeCalls::signal_run(const Caller& caller, const RunRef& ref, dbus::Whom, int) {
  called("SignalRun", ref.id.text(), caller);
  return on_act ? on_act() : Answer<void>{};
}

Answer<RunName> FakeCalls::get_run(const RunRef& ref) {
  called("GetRun", ref.id.text(), {});
  return on_name ? on_name(0) : sample_name(ref.id.text());
}

Answer<RunName> FakeCalls::get_run_by_pid(const Caller& caller, uint32_t pid) {
  called("GetRunByPID", std::to_string(pid), caller);
  return on_name ? on_name(pid) : sample_name();
}

Answer<std::vector<const run::Status*>> FakeCalls::list_runs(const Caller& caller,
                                                             const dbus::RunFilter& filter) {
  called("ListRuns", "", caller);
  if (on_list) return on_list(filter);
  return std::vector<const run::Status*>{&sample_};
}

Answer<std::vector<run::Process>> FakeCalls::rows(const ProcessFilter& filter) {
  if (on_rows) return on_rows(filter);
  return std::vector<run::Process>{sample_process()};
}

Answer<std::vector<run::Process>> FakeCalls::list_processes(const Caller& caller,
                                                            const ProcessFilter& filter) {
  called("ListProcesses", "", caller);
  return rows(filter);
}

Answer<std::vector<run::Process>> FakeCalls::list_leaks(const Caller& caller,
                                                        const ProcessFilter& filter) {
  called("ListLeaks", "", caller);
  return rows(filter);
}

Answer<void> FakeCalls::forget_run(const Caller& caller, const RunRef& ref) {
  called("ForgetRun", ref.id.text(), caller);
  return on_act ? on_act() : Answer<void>{};
}

dbus::ManagerProperties FakeCalls::manager_properties() {
  if (on_manager) return on_manager();
  return {"0.1.0", std::string(32, 'b'), {"cgroup-kill"}, 5, 6, run::Enforcement::observe};
}

std::vector<dbus::ConfigurationRow> FakeCalls::configuration() {
  called("GetConfiguration", "", {});
  return {{"Runs", "GraceSec", "2s", "/etc/corral/corrald.conf:3"},
          {"Runs", "SettleSec", "200ms", "default"}};
}

uint32_t FakeCalls::descendants(const run::Invocation&) {
  return on_descendants ? on_descendants() : 9;
}

}  // namespace corral::bus
