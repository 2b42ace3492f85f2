#include "dbus/server.h"

#include <sdbus-c++/sdbus-c++.h>

#include <cerrno>
#include <map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "dbus/callers.h"
#include "dbus/connect.h"
#include "dbus/event_loop.h"
#include "dbus/fit.h"
#include "dbus/guard.h"
#include "dbus/manager_object.h"
#include "dbus/open_call.h"
#include "dbus/paths.h"
#include "dbus/run_object.h"

namespace corral::dbus {

// In the order of dependence: what is below goes first.
class Server::Impl {
 public:
  Impl(std::unique_ptr<sdbus::IConnection> bus, Calls& service)
      : connection(std::move(bus)),
        callers(*connection),
        incoming(open_calls, callers),
        manager(*connection, incoming, service),
        calls(service) {}

  // Sends something; what cannot be sent is logged, but for a lost connection, which was told.
  template <typename F>
  void send(const char* what, F&& body) {
    if (loop && loop->is_lost()) return;
    try {
      body();
    } catch (...) {
      log(Level::warning, "{}: {}", what, current_error(what).getMessage());
    }
  }

  Result<void> attach(sd_event* event_loop, base::Callback<void()> lost) {
    sd_event_source* source = nullptr;
    int error = sd_event_add_defer(event_loop, &source, on_bury, this);
    if (error < 0) return failed(-error, "watch for withdrawn objects");
    bury.reset(source);
    sd_event_source_set_enabled(source, SD_EVENT_OFF);
    // Before the bus's next message, which might be for one of them.
    sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
    auto attached = BusLoop::attach(*connection, event_loop, std::move(lost));
    if (!attached) return attached.error();
    loop = std::move(*attached);
    return {};
  }

  static int on_bury(sd_event_source*, void* self) {
    static_cast<Impl*>(self)->withdrawn.clear();
    return 0;
  }

  std::unique_ptr<sdbus::IConnection> connection;
  OpenCalls open_calls;
  Callers callers;
  Incoming incoming;
  ManagerObject manager;
  Calls& calls;
  std::map<std::string, std::unique_ptr<RunObject>> runs;  // by invocation
  std::vector<std::unique_ptr<RunObject>> withdrawn;       // until no call can be on them
  EventSource bury;
  std::unique_ptr<BusLoop> loop;
};

Result<std::unique_ptr<Server>> Server::open(const BusAddress& bus, sd_event* loop, Calls& calls,
                                             base::Callback<void()> lost) {
  auto connection = connect(bus);
  if (!connection) return connection.error();
  try {
    auto impl = std::make_unique<Impl>(std::move(*connection), calls);
    if (auto attached = impl->attach(loop, std::move(lost)); !attached) return attached.error();
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  } catch (const sdbus::Error& error) {
    return failed(errno_of(error.getName()), std::string("export ") + kManagerPath);
  }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<void> Server::request_name() {
  try {
    impl_->connection->requestName(kServiceName);
    return {};
  } catch (const sdbus::Error& error) {
    const int code = errno_of(error.getName());
    auto reason = failed(code, std::string("request the bus name ") + kServiceName);
    if (code == EEXIST) reason.message += "; another corrald serves this bus: stop it first";
    return reason;
  }
}

void Server::publish(const run::Status& status) {
  impl_->send("publish a run", [&] {
    impl_->runs.emplace(
        status.report.invocation,
        std::make_unique<RunObject>(*impl_->connection, impl_->incoming, impl_->calls, status));
  });
}

void Server::withdraw(const run::Invocation& invocation) {
  auto run = impl_->runs.extract(invocation.text());
  if (!run) return;
  run.mapped()->forget();
  impl_->withdrawn.push_back(std::move(run.mapped()));
  sd_event_source_set_enabled(impl_->bury.get(), SD_EVENT_ONESHOT);
}

void Server::changed(const run::Status& status, const std::vector<std::string>& properties) {
  const auto run = impl_->runs.find(status.report.invocation);
  if (run == impl_->runs.end() || properties.empty()) return;
  impl_->send("PropertiesChanged of a run", [&] { run->second->emit_changed(properties); });
}

void Server::run_started(const run::Status& status) {
  const auto& report = status.report;
  impl_->send("RunStarted", [&] {
    impl_->manager.emitRunStarted(report.id, report.invocation,
                                  run_path(report.id, report.invocation));
  });
}

void Server::driver_exited(const run::Status& status) {
  const auto& report = status.report;
  impl_->send("DriverExited", [&] {
    impl_->manager.emitDriverExited(report.id, report.invocation,
                                    run_path(report.id, report.invocation),
                                    std::string(word(report.driver_exit)), report.driver_status);
  });
}

void Server::leaks_found(const run::Status& status) {
  const auto& report = status.report;
  impl_->send("LeaksFound", [&] {
    impl_->manager.emitLeaksFound(report.id, report.invocation,
                                  run_path(report.id, report.invocation),
                                  count32(report.leaks_found));
  });
}

void Server::run_ended(const run::Status& status) {
  const auto& report = status.report;
  impl_->send("RunEnded", [&] {
    impl_->manager.emitRunEnded(
        report.id, report.invocation, run_path(report.id, report.invocation),
        std::string(word(report.result)), std::string(word(report.end_reason)));
  });
}

void Server::manager_changed(const std::vector<std::string>& properties) {
  if (properties.empty()) return;
  impl_->send("PropertiesChanged of the manager", [&] { impl_->manager.emit_changed(properties); });
}

void Server::flush() {
  impl_->send("flush", [&] {
    // The bus daemon's answer comes after it has taken all that was sent before.
    auto bus =
        sdbus::createProxy(*impl_->connection, "org.freedesktop.DBus", "/org/freedesktop/DBus");
    std::string id;
    bus->callMethod("GetId")
        .onInterface("org.freedesktop.DBus")
        .withTimeout(std::chrono::seconds{1})
        .storeResultsTo(id);
  });
}

}  // namespace corral::dbus
