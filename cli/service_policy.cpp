#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "cli/service_impl.h"

namespace corral::cli {
namespace {

// Of a signal: what all of them begin with, and what its own kind adds.
RunSignal signal_of(const std::string& name, sdbus::Signal& message) {
  RunSignal signal;
  signal.name = name;
  sdbus::ObjectPath path;
  message >> signal.id >> signal.invocation >> path;
  signal.path = path;
  if (name == "DriverExited") message >> signal.exit >> signal.status;
  if (name == "LeaksFound") message >> signal.count;
  if (name == "RunEnded") message >> signal.result >> signal.reason;
  return signal;
}

}  // namespace

Called<json> Service::end_runs(const EndsRequest& request) {
  return at_edge(
      [&] { return impl_->call<json>(kEndBound, take_only, "EndRuns", options_of(request)); });
}

Called<void> Service::freeze_run(const RunRef& run) {
  return at_edge([&] {
    return impl_->call<void>(kCallBound, take_nothing, "FreezeRun", run.id, options_of(run));
  });
}

Called<void> Service::thaw_run(const RunRef& run) {
  return at_edge([&] {
    return impl_->call<void>(kCallBound, take_nothing, "ThawRun", run.id, options_of(run));
  });
}

Called<void> Service::set_run(const RunRef& run, const SetRequest& request) {
  return at_edge([&] {
    return impl_->call<void>(kCallBound, take_nothing, "SetRun", run.id, options_of(run, request));
  });
}

Called<void> Service::renew_lease(const std::string& id, microseconds ttl) {
  return at_edge([&] {
    return impl_->call<void>(kCallBound, take_nothing, "RenewLease", id,
                             static_cast<uint64_t>(ttl.count()));
  });
}

Called<UniqueFd> Service::acquire_lease(const std::string& id, const std::string& who,
                                        const std::string& why) {
  const auto take = [](sdbus::MethodReply& reply) {
    sdbus::UnixFd fd;
    reply >> fd;
    UniqueFd lease(fd.release());
    // sdbus-c++ duplicates it without. Nothing is forked meanwhile: there is one thread.
    (void)fcntl(lease.get(), F_SETFD, FD_CLOEXEC);
    return lease;
  };
  return at_edge(
      [&] { return impl_->call<UniqueFd>(kCallBound, take, "AcquireLease", id, who, why); });
}

Called<RunName> Service::release(const std::string& run_path, const std::vector<uint32_t>& pids) {
  const auto take = [](sdbus::MethodReply& reply) {
    sdbus::ObjectPath path;
    RunName name;
    reply >> path >> name.id >> name.invocation;
    name.path = path;
    return name;
  };
  return at_edge([&] { return impl_->call_run<RunName>(take, run_path, "Release", pids); });
}

Called<RunName> Service::adopt(const StartRequest& request, const std::vector<uint32_t>& pids) {
  const auto take = [&](sdbus::MethodReply& reply) { return take_started(reply, request.id); };
  return at_edge([&] {
    return impl_->call<RunName>(kCallBound, take, "AdoptProcesses", request.id, pids,
                                options_of_opening(request));
  });
}

Called<void> Service::set_enforcement(const std::string& enforcement) {
  return at_edge(
      [&] { return impl_->call<void>(kCallBound, take_nothing, "SetEnforcement", enforcement); });
}

Called<json> Service::manager_properties() {
  return at_edge([&] { return impl_->properties(dbus::kManagerPath, kManagerInterface); });
}

Called<void> Service::follow(const std::function<bool(const RunSignal&)>& told) {
  bool stop = false;
  // Runs inside a handler of sdbus-c++, which no exception may leave.
  const auto hear = [&](const std::string& name, sdbus::Signal& message) {
    try {
      stop = stop || !told(signal_of(name, message));
    } catch (const sdbus::Error&) {
      // Of another version: there is nothing to tell.
    }
  };
  return at_edge([&]() -> Called<void> {
    const auto manager = impl_->proxy(dbus::kManagerPath);
    for (const char* name : {"RunStarted", "DriverExited", "LeaksFound", "RunEnded"})
      manager->registerSignalHandler(
          kManagerInterface, name, [&hear, name](sdbus::Signal& message) { hear(name, message); });
    manager->finishRegistration();
    impl_->connection.serve_until(stop);
    return {};
  });
}

}  // namespace corral::cli
