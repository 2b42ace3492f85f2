#include "cli/service.h"

#include <sdbus-c++/sdbus-c++.h>

#include <nlohmann/json.hpp>

#include "cli/call_options.h"
#include "cli/connection.h"
#include "cli/message_json.h"
#include "dbus/connect.h"
#include "dbus/manager_proxy.h"
#include "dbus/run_proxy.h"

namespace corral::cli {
namespace {

constexpr const char* kManagerInterface = org::corral::Corral1::Manager_proxy::INTERFACE_NAME;
constexpr const char* kRunInterface = org::corral::Corral1::Run_proxy::INTERFACE_NAME;
constexpr const char* kPropertiesInterface = "org.freedesktop.DBus.Properties";

constexpr microseconds kCallBound = std::chrono::seconds{25};  // as sd-bus has it
// Longer than the service's own bounds: an end lasts as long as the run's grace and the proof.
constexpr microseconds kEndBound = std::chrono::hours{24};
constexpr microseconds kMoment = std::chrono::milliseconds{500};
constexpr uint64_t kPage = 1000;

// The edge where exceptions of sdbus-c++ become values.
template <typename F>
auto at_edge(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const sdbus::Error& error) {
    return tl::unexpected<CallError>({error.getName(), error.getMessage()});
  }
}

json take_only(sdbus::MethodReply& reply) {
  return take_json(reply);
}

void take_nothing(sdbus::MethodReply&) {}

RunName take_run_name(sdbus::MethodReply& reply) {
  sdbus::ObjectPath path;
  RunName name;
  reply >> path >> name.id >> name.invocation;
  name.path = path;
  return name;
}

// a(ssosa{sv}) as objects, the four in front under the names of the properties.
json run_objects(const json& rows) {
  json objects = json::array();
  for (const json& row : rows) {
    json object = row.at(4);
    object["Id"] = row.at(0);
    object["Invocation"] = row.at(1);
    object["Path"] = row.at(2);
    object["State"] = row.at(3);
    objects.push_back(std::move(object));
  }
  return objects;
}

// a(ssss) as objects.
json setting_objects(const json& rows) {
  json objects = json::array();
  for (const json& row : rows)
    objects.push_back(
        {{"Section", row.at(0)}, {"Key", row.at(1)}, {"Value", row.at(2)}, {"Source", row.at(3)}});
  return objects;
}

}  // namespace

class Service::Impl {
 public:
  explicit Impl(std::unique_ptr<sdbus::IConnection> bus)
      : connection(std::move(bus)), manager(proxy(dbus::kManagerPath)) {}

  std::unique_ptr<sdbus::IProxy> proxy(const std::string& path) {
    return sdbus::createProxy(connection.bus(), dbus::kServiceName, path);
  }

  template <typename... Args>
  sdbus::MethodCall message(const char* member, const Args&... args) {
    sdbus::MethodCall call = manager->createMethodCall(kManagerInterface, member);
    (void)(call << ... << args);
    return call;
  }

  template <typename T, typename Take, typename... Args>
  Called<T> call(microseconds bound, Take take, const char* member, const Args&... args) {
    return connection.call<T>(*manager, message(member, args...), bound, take);
  }

  template <typename... Args>
  Called<void> call_run(const std::string& path, const char* member, const Args&... args) {
    const auto run = proxy(path);
    auto call = run->createMethodCall(kRunInterface, member);
    (void)(call << ... << args);
    return connection.call<void>(*run, call, kCallBound, take_nothing);
  }

  Called<json> pages(const char* member, const ProcessFilter& filter) {
    json all = json::array();
    for (;;) {
      auto page = call<json>(kCallBound, take_only, member, options_of(filter, all.size(), kPage));
      if (!page) return page;
      all.insert(all.end(), page->begin(), page->end());
      if (page->size() < kPage) return all;
    }
  }

  Connection connection;
  std::unique_ptr<sdbus::IProxy> manager;
};

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::Service(Service&&) noexcept = default;
Service& Service::operator=(Service&&) noexcept = default;
Service::~Service() = default;

Called<Service> Service::connect(const dbus::BusAddress& bus) {
  return at_edge([&]() -> Called<Service> {
    auto connection = dbus::connect(bus);
    if (!connection) return tl::unexpected<CallError>({"", connection.error().message});
    return Service(std::make_unique<Impl>(std::move(*connection)));
  });
}

Called<RunName> Service::start_run(const StartRequest& request) {
  const auto take = [&](sdbus::MethodReply& reply) {
    sdbus::ObjectPath path;
    RunName name{request.id, "", ""};
    reply >> path >> name.invocation;
    name.path = path;
    return name;
  };
  return at_edge([&] {
    return impl_->call<RunName>(kCallBound, take, "StartRun", request.id, request.argv,
                                options_of(request));
  });
}

Called<OpenedRun> Service::open_run(const StartRequest& request) {
  const auto take = [&](sdbus::MethodReply& reply) {
    sdbus::ObjectPath path;
    OpenedRun run{{request.id, "", ""}, ""};
    reply >> path >> run.name.invocation >> run.directory;
    run.name.path = path;
    return run;
  };
  return at_edge([&] {
    return impl_->call<OpenedRun>(kCallBound, take, "OpenRun", request.id,
                                  options_of_opening(request));
  });
}

Called<void> Service::attach(const std::string& run_path, uint32_t pid) {
  return at_edge([&] { return impl_->call_run(run_path, "Attach", pid); });
}

Called<void> Service::report_exit(const std::string& run_path, const std::string& exit,
                                  int32_t status) {
  return at_edge([&] { return impl_->call_run(run_path, "ReportExit", exit, status); });
}

Called<json> Service::end_run(const EndRequest& request) {
  return at_edge([&] {
    return impl_->call<json>(kEndBound, take_only, "EndRun", request.run.id, options_of(request));
  });
}

void Service::post_end_run(const EndRequest& request,
                           std::function<void(const CallError&)> refused) {
  const auto posted = at_edge([&]() -> Called<void> {
    impl_->manager->callMethod(
        impl_->message("EndRun", request.run.id, options_of(request)),
        [refused = std::move(refused)](sdbus::MethodReply&, const sdbus::Error* error) {
          if (refused && error != nullptr && error->isValid())
            refused({error->getName(), error->getMessage()});
        },
        static_cast<uint64_t>(kEndBound.count()));
    return {};
  });
  (void)posted;  // whoever waits for the run sees a bus that is gone
}

Called<json> Service::wait_run(const RunRef& run, const std::string& until, microseconds timeout) {
  return at_edge([&] {
    Dict options = options_of(run);
    options["Until"] = sdbus::Variant(until);
    options["TimeoutUSec"] = sdbus::Variant(static_cast<uint64_t>(timeout.count()));
    return impl_->call<json>(timeout + kCallBound, take_only, "WaitRun", run.id, options);
  });
}

Called<json> Service::get_report(const RunRef& run) {
  return at_edge([&] {
    return impl_->call<json>(kCallBound, take_only, "GetReport", run.id, options_of(run));
  });
}

Called<void> Service::signal_run(const RunRef& run, const std::string& whom, int signal) {
  return at_edge([&] {
    return impl_->call<void>(kCallBound, take_nothing, "SignalRun", run.id, whom, int32_t{signal},
                             options_of(run));
  });
}

Called<RunName> Service::get_run(const std::string& id) {
  return at_edge([&] { return impl_->call<RunName>(kCallBound, take_run_name, "GetRun", id); });
}

Called<RunName> Service::get_run_by_pid(uint32_t pid) {
  return at_edge(
      [&] { return impl_->call<RunName>(kCallBound, take_run_name, "GetRunByPID", pid); });
}

Called<json> Service::list_runs(const RunFilter& filter) {
  const auto take = [](sdbus::MethodReply& reply) { return run_objects(take_json(reply)); };
  return at_edge(
      [&] { return impl_->call<json>(kCallBound, take, "ListRuns", options_of(filter)); });
}

Called<json> Service::list_processes(const ProcessFilter& filter) {
  return at_edge([&] { return impl_->pages("ListProcesses", filter); });
}

Called<json> Service::list_leaks(const ProcessFilter& filter) {
  return at_edge([&] { return impl_->pages("ListLeaks", filter); });
}

Called<void> Service::forget_run(const RunRef& run) {
  return at_edge([&] {
    return impl_->call<void>(kCallBound, take_nothing, "ForgetRun", run.id, options_of(run));
  });
}

Called<json> Service::get_configuration() {
  const auto take = [](sdbus::MethodReply& reply) { return setting_objects(take_json(reply)); };
  return at_edge([&] { return impl_->call<json>(kCallBound, take, "GetConfiguration"); });
}

Called<json> Service::properties(const std::string& run_path) {
  return at_edge([&]() -> Called<json> {
    const auto proxy = impl_->proxy(run_path);
    auto call = proxy->createMethodCall(kPropertiesInterface, "GetAll");
    call << kRunInterface;
    return impl_->connection.call<json>(*proxy, call, kCallBound, take_only);
  });
}

Called<json> Service::property(const std::string& run_path, const std::string& name) {
  return at_edge([&]() -> Called<json> {
    const auto proxy = impl_->proxy(run_path);
    auto call = proxy->createMethodCall(kPropertiesInterface, "Get");
    call << kRunInterface << name;
    auto reply = proxy->callMethod(call, static_cast<uint64_t>(kMoment.count()));
    return take_json(reply);
  });
}

void Service::watch(int fd, base::Callback<void()> ready) {
  impl_->connection.watch(fd, std::move(ready));
}

void Service::every(std::chrono::milliseconds period, base::Callback<void()> tick) {
  impl_->connection.every(period, std::move(tick));
}

void Service::interrupt() {
  impl_->connection.interrupt();
}

}  // namespace corral::cli
