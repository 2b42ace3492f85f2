#include "cli/service.h"

#include <nlohmann/json.hpp>

#include "cli/message_json.h"
#include "cli/service_impl.h"
#include "dbus/connect.h"

namespace corral::cli {
namespace {

constexpr uint64_t kPage = 1000;
constexpr microseconds kMoment = std::chrono::milliseconds{500};

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

RunName take_started(sdbus::MethodReply& reply, const std::string& id) {
  sdbus::ObjectPath path;
  RunName name{id, "", ""};
  reply >> path >> name.invocation;
  name.path = path;
  return name;
}

json take_only(sdbus::MethodReply& reply) {
  return take_json(reply);
}

Called<json> Service::Impl::properties(const std::string& path, const char* interface) {
  const auto object = proxy(path);
  auto call = object->createMethodCall(kPropertiesInterface, "GetAll");
  call << interface;
  return connection.call<json>(*object, call, kCallBound, take_only);
}

Called<json> Service::Impl::pages(const char* member, const ProcessFilter& filter) {
  json all = json::array();
  for (;;) {
    auto page = call<json>(kCallBound, take_only, member, options_of(filter, all.size(), kPage));
    if (!page) return page;
    all.insert(all.end(), page->begin(), page->end());
    if (page->size() < kPage) return all;
  }
}

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
  const auto take = [&](sdbus::MethodReply& reply) { return take_started(reply, request.id); };
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
  return at_edge([&] { return impl_->call_run(take_nothing, run_path, "Attach", pid); });
}

Called<void> Service::report_exit(const std::string& run_path, const std::string& exit,
                                  int32_t status) {
  return at_edge(
      [&] { return impl_->call_run(take_nothing, run_path, "ReportExit", exit, status); });
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
  return at_edge([&] { return impl_->properties(run_path, kRunInterface); });
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
