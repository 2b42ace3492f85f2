#include "dbus/manager_object.h"

#include <fmt/format.h>

#include <utility>

#include "dbus/guard.h"
#include "dbus/paths.h"
#include "dbus/requests.h"
#include "dbus/server.h"
#include "dbus/wire.h"

namespace corral::dbus {
namespace {

using run::Answer;
using run::FaultKind;

void reply_started(OpenCall& call, const Answer<RunName>& answer) {
  if (!answer) return call.refuse(answer.error());
  call.answer([&](sdbus::Message& message) {
    message << sdbus::ObjectPath(run_path(answer->id.text(), answer->invocation.text()))
            << answer->invocation.text();
  });
}

void reply_report(OpenCall& call, Answer<run::Report> answer) {
  if (!answer) return call.refuse(answer.error());
  fit(*answer);
  call.answer([&](sdbus::Message& message) { append_report(message, *answer); });
}

void reply_rows(OpenCall& call, const char* name, const ProcessFilter& filter,
                Answer<std::vector<run::Process>> answer) {
  if (!answer) return call.refuse(answer.error());
  size_t size = 0;
  for (auto& row : *answer) {
    fit(row);
    size += wire_size(row);
  }
  if (size > kMessageBytes) {
    return call.refuse({FaultKind::limit_exceeded,
                        fmt::format("{}: {} rows come to more than {} bytes; ask for fewer with "
                                    "Limit and Offset {}",
                                    name, answer->size(), kMessageBytes, filter.offset)});
  }
  call.answer([&](sdbus::Message& message) { append_rows(message, *answer); });
}

void reply_runs(OpenCall& call, const Answer<std::vector<const run::Status*>>& answer) {
  if (!answer) return call.refuse(answer.error());
  size_t size = 0;
  for (const auto* status : *answer) size += wire_size(*status);
  if (size > kMessageBytes) {
    return call.refuse({FaultKind::limit_exceeded,
                        fmt::format("ListRuns: {} runs come to more than {} bytes; ask for fewer "
                                    "with Owner, State or Label",
                                    answer->size(), kMessageBytes)});
  }
  call.answer([&](sdbus::Message& message) { append_runs(message, *answer); });
}

}  // namespace

ManagerObject::ManagerObject(sdbus::IConnection& connection, Incoming& incoming, Calls& calls)
    : AdaptorInterfaces(connection, kManagerPath), incoming_(incoming), calls_(calls) {
  registerAdaptor();
}

ManagerObject::~ManagerObject() {
  unregisterAdaptor();
}

void ManagerObject::emit_changed(const std::vector<std::string>& properties) {
  getObject().emitPropertiesChangedSignal(INTERFACE_NAME, properties);
}

void ManagerObject::receive(const char* name, Needs needs, Incoming::Body body) {
  incoming_.receive(*getObject().getCurrentlyProcessedMessage(), name, needs, std::move(body));
}

void ManagerObject::StartRun(sdbus::Result<sdbus::ObjectPath, std::string>&&, std::string id,
                             std::vector<std::string> argv, Variants options) {
  receive("StartRun", Needs::identity,
          [this, id = std::move(id), argv = std::move(argv), options = std::move(options)](
              OpenCall& call, const Caller& caller) mutable {
            auto spec =
                start_request(id, std::move(argv), std::move(options), calls_.default_policy());
            if (!spec) return call.refuse(spec.error());
            calls_.start_run(caller, std::move(*spec),
                             [call = std::move(call)](const Answer<RunName>& answer) mutable {
                               reply_started(call, answer);
                             });
          });
}

void ManagerObject::OpenRun(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&&,
                            std::string id, Variants options) {
  receive("OpenRun", Needs::identity,
          [this, id = std::move(id), options = std::move(options)](OpenCall& call,
                                                                   const Caller& caller) mutable {
            auto spec = open_request(id, std::move(options), calls_.default_policy());
            if (!spec) return call.refuse(spec.error());
            const auto answer = calls_.open_run(caller, std::move(*spec));
            if (!answer) return call.refuse(answer.error());
            call.answer([&](sdbus::Message& message) {
              message << sdbus::ObjectPath(
                             run_path(answer->name.id.text(), answer->name.invocation.text()))
                      << answer->name.invocation.text() << answer->directory;
            });
          });
}

void ManagerObject::EndRun(sdbus::Result<Variants>&&, std::string id, Variants options) {
  receive("EndRun", Needs::identity,
          [this, id = std::move(id), options = std::move(options)](OpenCall& call,
                                                                   const Caller& caller) mutable {
            auto request = end_request(id, std::move(options));
            if (!request) return call.refuse(request.error());
            calls_.end_run(caller, request->ref, std::move(request->options),
                           [call = std::move(call)](Answer<run::Report> answer) mutable {
                             reply_report(call, std::move(answer));
                           });
          });
}

void ManagerObject::EndRuns(sdbus::Result<std::vector<Variants>>&&, Variants options) {
  receive("EndRuns", Needs::identity,
          [this, options = std::move(options)](OpenCall& call, const Caller& caller) mutable {
            auto request = end_runs_request(std::move(options));
            if (!request) return call.refuse(request.error());
            calls_.end_runs(
                caller, std::move(*request),
                [call = std::move(call)](const Answer<std::vector<EndedRow>>& answer) mutable {
                  if (!answer) return call.refuse(answer.error());
                  call.answer([&](sdbus::Message& message) { append_ended(message, *answer); });
                });
          });
}

void ManagerObject::freeze(const char* name, std::string id, Variants options, bool frozen) {
  receive(name, Needs::identity,
          [this, name, frozen, id = std::move(id), options = std::move(options)](
              OpenCall& call, const Caller& caller) mutable {
            const auto ref = ref_request(name, id, std::move(options));
            if (!ref) return call.refuse(ref.error());
            calls_.freeze_run(caller, *ref, frozen,
                              [call = std::move(call)](const Answer<void>& answer) mutable {
                                reply(call, answer);
                              });
          });
}

void ManagerObject::FreezeRun(sdbus::Result<>&&, std::string id, Variants options) {
  freeze("FreezeRun", std::move(id), std::move(options), true);
}

void ManagerObject::ThawRun(sdbus::Result<>&&, std::string id, Variants options) {
  freeze("ThawRun", std::move(id), std::move(options), false);
}

void ManagerObject::SetRun(sdbus::Result<>&&, std::string id, Variants options) {
  receive("SetRun", Needs::identity,
          [this, id = std::move(id), options = std::move(options)](OpenCall& call,
                                                                   const Caller& caller) mutable {
            auto request = set_request(id, std::move(options));
            if (!request) return call.refuse(request.error());
            reply(call, calls_.set_run(caller, request->ref, std::move(request->options)));
          });
}

void ManagerObject::RenewLease(sdbus::Result<>&&, std::string id, uint64_t ttl_usec) {
  receive("RenewLease", Needs::identity,
          [this, id = std::move(id), ttl_usec](OpenCall& call, const Caller& caller) {
            const auto ref = ref_request("RenewLease", id, {});
            if (!ref) return call.refuse(ref.error());
            if (ttl_usec > INT64_MAX)
              return call.refuse({FaultKind::invalid_args,
                                  "RenewLease: ttl_usec is too long; AcquireLease has no end"});
            reply(call,
                  calls_.renew_lease(caller, *ref, microseconds{static_cast<int64_t>(ttl_usec)}));
          });
}

void ManagerObject::AcquireLease(sdbus::Result<sdbus::UnixFd>&&, std::string id, std::string who,
                                 std::string why) {
  receive("AcquireLease", Needs::identity,
          [this, id = std::move(id), who = std::move(who), why = std::move(why)](
              OpenCall& call, const Caller& caller) mutable {
            const auto ref = lease_request(id, who, why);
            if (!ref) return call.refuse(ref.error());
            const auto answer = calls_.acquire_lease(caller, *ref, std::move(who), std::move(why));
            if (!answer) return call.refuse(answer.error());
            call.answer([&](sdbus::Message& message) { message << sdbus::UnixFd(answer->get()); });
          });
}

void ManagerObject::AdoptProcesses(sdbus::Result<sdbus::ObjectPath, std::string>&&, std::string id,
                                   std::vector<uint32_t> pids, Variants options) {
  receive("AdoptProcesses", Needs::identity,
          [this, id = std::move(id), pids = std::move(pids), options = std::move(options)](
              OpenCall& call, const Caller& caller) mutable {
            auto spec = adopt_request(id, pids, std::move(options), calls_.default_policy());
            if (!spec) return call.refuse(spec.error());
            calls_.adopt_processes(caller, std::move(*spec), std::move(pids),
                                   [call = std::move(call)](const Answer<RunName>& answer) mutable {
                                     reply_started(call, answer);
                                   });
          });
}

void ManagerObject::SetEnforcement(sdbus::Result<>&&, std::string enforcement) {
  receive("SetEnforcement", Needs::identity,
          [this, enforcement = std::move(enforcement)](OpenCall& call, const Caller& caller) {
            const auto value = enforcement_request(enforcement);
            if (!value) return call.refuse(value.error());
            reply(call, calls_.set_enforcement(caller, *value));
          });
}

void ManagerObject::WaitRun(sdbus::Result<Variants>&&, std::string id, Variants options) {
  receive("WaitRun", Needs::nothing,
          [this, id = std::move(id), options = std::move(options)](OpenCall& call,
                                                                   const Caller& caller) mutable {
            auto request = wait_request(id, std::move(options));
            if (!request) return call.refuse(request.error());
            calls_.wait_run(
                caller, request->ref, request->options,
                [call = std::move(call)](const Answer<run::Status>& answer) mutable {
                  if (!answer) return call.refuse(answer.error());
                  call.answer([&](sdbus::Message& message) { append_status(message, *answer); });
                });
          });
}

void ManagerObject::GetReport(sdbus::Result<Variants>&&, std::string id, Variants options) {
  receive("GetReport", Needs::identity,
          [this, id = std::move(id), options = std::move(options)](OpenCall& call,
                                                                   const Caller& caller) mutable {
            const auto ref = ref_request("GetReport", id, std::move(options));
            if (!ref) return call.refuse(ref.error());
            reply_report(call, calls_.get_report(caller, *ref));
          });
}

void ManagerObject::SignalRun(sdbus::Result<>&&, std::string id, std::string whom, int32_t signal,
                              Variants options) {
  receive("SignalRun", Needs::identity,
          [this, id = std::move(id), whom = std::move(whom), signal, options = std::move(options)](
              OpenCall& call, const Caller& caller) mutable {
            const auto request = signal_request(id, whom, signal, std::move(options));
            if (!request) return call.refuse(request.error());
            reply(call, calls_.signal_run(caller, request->ref, request->whom, request->signal));
          });
}

void ManagerObject::GetRun(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&&,
                           std::string id) {
  receive("GetRun", Needs::nothing, [this, id = std::move(id)](OpenCall& call, const Caller&) {
    const auto ref = ref_request("GetRun", id, {});
    if (!ref) return call.refuse(ref.error());
    reply_name(call, calls_.get_run(*ref));
  });
}

void ManagerObject::GetRunByPID(sdbus::Result<sdbus::ObjectPath, std::string, std::string>&&,
                                uint32_t pid) {
  receive("GetRunByPID", Needs::nothing, [this, pid](OpenCall& call, const Caller& caller) {
    reply_name(call, calls_.get_run_by_pid(caller, pid));
  });
}

void ManagerObject::ListRuns(
    sdbus::Result<std::vector<
        sdbus::Struct<std::string, std::string, sdbus::ObjectPath, std::string, Variants>>>&&,
    Variants options) {
  receive("ListRuns", Needs::nothing,
          [this, options = std::move(options)](OpenCall& call, const Caller& caller) mutable {
            const auto filter = run_filter(std::move(options));
            if (!filter) return call.refuse(filter.error());
            reply_runs(call, calls_.list_runs(caller, *filter));
          });
}

void ManagerObject::ListProcesses(sdbus::Result<std::vector<Variants>>&&, Variants options) {
  receive("ListProcesses", Needs::identity,
          [this, options = std::move(options)](OpenCall& call, const Caller& caller) mutable {
            const auto filter = process_filter("ListProcesses", std::move(options));
            if (!filter) return call.refuse(filter.error());
            reply_rows(call, "ListProcesses", *filter, calls_.list_processes(caller, *filter));
          });
}

void ManagerObject::ListLeaks(sdbus::Result<std::vector<Variants>>&&, Variants options) {
  receive("ListLeaks", Needs::identity,
          [this, options = std::move(options)](OpenCall& call, const Caller& caller) mutable {
            const auto filter = process_filter("ListLeaks", std::move(options));
            if (!filter) return call.refuse(filter.error());
            reply_rows(call, "ListLeaks", *filter, calls_.list_leaks(caller, *filter));
          });
}

void ManagerObject::ForgetRun(sdbus::Result<>&&, std::string id, Variants options) {
  receive("ForgetRun", Needs::identity,
          [this, id = std::move(id), options = std::move(options)](OpenCall& call,
                                                                   const Caller& caller) mutable {
            const auto ref = ref_request("ForgetRun", id, std::move(options));
            if (!ref) return call.refuse(ref.error());
            reply(call, calls_.forget_run(caller, *ref));
          });
}

void ManagerObject::GetConfiguration(
    sdbus::Result<
        std::vector<sdbus::Struct<std::string, std::string, std::string, std::string>>>&&) {
  receive("GetConfiguration", Needs::nothing, [this](OpenCall& call, const Caller&) {
    const auto rows = calls_.configuration();
    call.answer([&](sdbus::Message& message) { append_configuration(message, rows); });
  });
}

std::string ManagerObject::Version() {
  return guarded("Version", [this] { return calls_.manager_properties().version; });
}
std::vector<std::string> ManagerObject::Features() {
  return guarded("Features", [this] { return calls_.manager_properties().features; });
}
std::string ManagerObject::BootId() {
  return guarded("BootId", [this] { return calls_.manager_properties().boot_id; });
}
std::string ManagerObject::Enforcement() {
  return guarded("Enforcement", [this] {
    return std::string(run::word(calls_.manager_properties().enforcement));
  });
}
uint32_t ManagerObject::Runs() {
  return guarded("Runs", [this] { return calls_.manager_properties().runs; });
}
uint32_t ManagerObject::Leaks() {
  return guarded("Leaks", [this] { return calls_.manager_properties().leaks; });
}

}  // namespace corral::dbus
