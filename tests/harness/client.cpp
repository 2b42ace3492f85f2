#include "harness/client.h"

#include <fcntl.h>

#include <sdbus-c++/sdbus-c++.h>

#include "dbus/connect.h"
#include "dbus/manager_proxy.h"
#include "dbus/run_proxy.h"
#include "dbus/server.h"
#include "harness/eventually.h"
#include "harness/must.h"

namespace corral::harness {
namespace {

using org::corral::Corral1::Manager_proxy;
using org::corral::Corral1::Run_proxy;

// The generated proxy without its signals: it is never registered, so none arrives.
class Manager final : public sdbus::ProxyInterfaces<Manager_proxy> {
 public:
  explicit Manager(sdbus::IConnection& bus)
      : ProxyInterfaces(bus, dbus::kServiceName, dbus::kManagerPath) {}

 private:
  using Text = const std::string&;
  void onRunStarted(Text, Text, const sdbus::ObjectPath&) override {}
  void onDriverExited(Text, Text, const sdbus::ObjectPath&, Text, const int32_t&) override {}
  void onLeaksFound(Text, Text, const sdbus::ObjectPath&, const uint32_t&) override {}
  void onRunEnded(Text, Text, const sdbus::ObjectPath&, Text, Text) override {}
};

// What `call` returns, or the D-Bus error that it throws.
template <typename F>
auto answer_of(F&& call) -> Answer<decltype(call())> {
  try {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return {};
    } else {
      return call();
    }
  } catch (const sdbus::Error& error) {
    return tl::unexpected(CallError{error.getName(), error.getMessage()});
  }
}

class Run final : public sdbus::ProxyInterfaces<Run_proxy> {
 public:
  Run(sdbus::IConnection& bus, const std::string& path)
      : ProxyInterfaces(bus, dbus::kServiceName, path) {}
};

}  // namespace

class Client::Impl {
 public:
  explicit Impl(const std::string& address)
      : bus(must(dbus::connect({dbus::BusKind::address, address}))), manager(*bus) {
    // Past every time-out of the service's own: what is then not answered is a bug of it.
    bus->setMethodCallTimeout(std::chrono::seconds{60});
  }

  Answer<Dict> all(const std::string& path, const char* interface) {
    return answer_of([&] {
      Dict properties;
      sdbus::createProxy(*bus, dbus::kServiceName, path)
          ->callMethod("GetAll")
          .onInterface("org.freedesktop.DBus.Properties")
          .withArguments(std::string(interface))
          .storeResultsTo(properties);
      return properties;
    });
  }
  Answer<sdbus::Variant> property(const std::string& path, const char* interface,
                                  const std::string& name) {
    return answer_of([&]() -> sdbus::Variant {
      return sdbus::createProxy(*bus, dbus::kServiceName, path)
          ->getProperty(name)
          .onInterface(interface);
    });
  }

  std::unique_ptr<sdbus::IConnection> bus;
  Manager manager;
};

Client::Client(const std::string& address) : impl_(std::make_unique<Impl>(address)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Answer<Started> Client::start_run(const std::string& id, const std::vector<std::string>& argv,
                                  const Dict& options) {
  return answer_of([&] {
    const auto [path, invocation] = impl_->manager.StartRun(id, argv, options);
    return Started{path, invocation};
  });
}

Answer<Opened> Client::open_run(const std::string& id, const Dict& options) {
  return answer_of([&] {
    const auto [path, invocation, directory] = impl_->manager.OpenRun(id, options);
    return Opened{path, invocation, directory};
  });
}

Answer<void> Client::attach(const std::string& path, uint32_t pid) {
  return answer_of([&] { Run(*impl_->bus, path).Attach(pid); });
}

Answer<void> Client::report_exit(const std::string& path, const std::string& exit, int32_t status) {
  return answer_of([&] { Run(*impl_->bus, path).ReportExit(exit, status); });
}

Answer<Dict> Client::end_run(const std::string& id, const Dict& options) {
  return answer_of([&] { return impl_->manager.EndRun(id, options); });
}

Answer<std::vector<Dict>> Client::end_runs(const Dict& options) {
  return answer_of([&] { return impl_->manager.EndRuns(options); });
}

Answer<void> Client::freeze_run(const std::string& id, const Dict& options) {
  return answer_of([&] { impl_->manager.FreezeRun(id, options); });
}

Answer<void> Client::thaw_run(const std::string& id, const Dict& options) {
  return answer_of([&] { impl_->manager.ThawRun(id, options); });
}

Answer<void> Client::set_run(const std::string& id, const Dict& options) {
  return answer_of([&] { impl_->manager.SetRun(id, options); });
}

Answer<void> Client::renew_lease(const std::string& id, uint64_t ttl_usec) {
  return answer_of([&] { impl_->manager.RenewLease(id, ttl_usec); });
}

Answer<UniqueFd> Client::acquire_lease(const std::string& id, const std::string& who,
                                       const std::string& why) {
  return answer_of([&] {
    const auto lease = impl_->manager.AcquireLease(id, who, why);
    return UniqueFd{fcntl(lease.get(), F_DUPFD_CLOEXEC, 3)};
  });
}

Answer<Started> Client::adopt_processes(const std::string& id, const std::vector<uint32_t>& pids,
                                        const Dict& options) {
  return answer_of([&] {
    const auto [path, invocation] = impl_->manager.AdoptProcesses(id, pids, options);
    return Started{path, invocation};
  });
}

Answer<Named> Client::release(const std::string& path, const std::vector<uint32_t>& pids) {
  return answer_of([&] {
    const auto [run, id, invocation] = Run(*impl_->bus, path).Release(pids);
    return Named{run, id, invocation};
  });
}

Answer<void> Client::set_enforcement(const std::string& value) {
  return answer_of([&] { impl_->manager.SetEnforcement(value); });
}

Answer<Dict> Client::wait_run(const std::string& id, const Dict& options) {
  return answer_of([&] { return impl_->manager.WaitRun(id, options); });
}

Answer<Dict> Client::get_report(const std::string& id, const Dict& options) {
  return answer_of([&] { return impl_->manager.GetReport(id, options); });
}

Answer<void> Client::signal_run(const std::string& id, const std::string& whom, int signal,
                                const Dict& options) {
  return answer_of([&] { impl_->manager.SignalRun(id, whom, signal, options); });
}

Answer<Named> Client::get_run(const std::string& id) {
  return answer_of([&] {
    const auto [path, name, invocation] = impl_->manager.GetRun(id);
    return Named{path, name, invocation};
  });
}

Answer<Named> Client::get_run_by_pid(uint32_t pid) {
  return answer_of([&] {
    const auto [path, name, invocation] = impl_->manager.GetRunByPID(pid);
    return Named{path, name, invocation};
  });
}

Answer<std::vector<RunRow>> Client::list_runs(const Dict& filter) {
  return answer_of([&] {
    std::vector<RunRow> rows;
    for (const auto& row : impl_->manager.ListRuns(filter)) {
      rows.push_back({row.get<0>(), row.get<1>(), row.get<2>(), row.get<3>(), row.get<4>()});
    }
    return rows;
  });
}

Answer<std::vector<Dict>> Client::list_processes(const Dict& filter) {
  return answer_of([&] { return impl_->manager.ListProcesses(filter); });
}

Answer<std::vector<Dict>> Client::list_leaks(const Dict& filter) {
  return answer_of([&] { return impl_->manager.ListLeaks(filter); });
}

Answer<void> Client::forget_run(const std::string& id, const Dict& options) {
  return answer_of([&] { impl_->manager.ForgetRun(id, options); });
}

Answer<std::vector<SettingRow>> Client::get_configuration() {
  return answer_of([&] {
    std::vector<SettingRow> rows;
    for (const auto& row : impl_->manager.GetConfiguration())
      rows.push_back({row.get<0>(), row.get<1>(), row.get<2>(), row.get<3>()});
    return rows;
  });
}

Answer<sdbus::Variant> Client::manager_property(const std::string& name) {
  return impl_->property(dbus::kManagerPath, Manager_proxy::INTERFACE_NAME, name);
}

Answer<sdbus::Variant> Client::run_property(const std::string& path, const std::string& name) {
  return impl_->property(path, Run_proxy::INTERFACE_NAME, name);
}

Answer<Dict> Client::run_properties(const std::string& path) {
  return impl_->all(path, Run_proxy::INTERFACE_NAME);
}

bool Client::wait_state(const std::string& id, const std::string& state) {
  return eventually([&] {
    const auto named = get_run(id);
    if (!named) return false;
    const auto now = run_property(named->path, "State");
    return now && now->get<std::string>() == state;
  });
}

}  // namespace corral::harness
