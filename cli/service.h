#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/callback.h"
#include "dbus/server.h"

namespace corral::cli {

using nlohmann::json;
using std::chrono::microseconds;

// The error reply to a call, or what kept the call from being answered.
struct CallError {
  std::string name;  // D-Bus error name
  std::string message;
};
template <typename T>
using Called = tl::expected<T, CallError>;

struct RunRef {
  std::string id;
  std::optional<std::string> invocation;
};

struct RunName {
  std::string id, invocation, path;
};

// A run whose driver the caller forks itself.
struct OpenedRun {
  RunName name;
  std::string directory;  // of its cgroup
};

struct StartRequest {
  std::string id;
  std::vector<std::string> argv;
  std::optional<std::string> owner, token, description;
  std::map<std::string, std::string> labels;
  std::string working_directory;
  std::vector<std::string> environment;
  // Standard streams: "null", "append:PATH" or "truncate:PATH"; "": the service's default.
  std::string input, output, error;
  std::optional<microseconds> settle, grace;
  std::optional<int> term_signal;
};

struct EndRequest {
  RunRef run;
  std::optional<microseconds> grace;
  std::string reason;
};

struct RunFilter {
  std::optional<std::string> owner, state, label;
  bool all = false;
};

struct ProcessFilter {
  std::optional<std::string> run, invocation, owner, label;
  std::optional<uint16_t> port;
};

// org.corral.Corral1 as its users see it. Replies come as JSON, made from the message as it is: an
// a{sv} is an object, whatever its keys. One thread; a call returns when it is answered, and
// meanwhile serves what watch() and every() were given.
class Service {
 public:
  // Fails where there is no bus; whether the service is there shows at the first call.
  static Called<Service> connect(const dbus::BusAddress& bus);
  Service(Service&&) noexcept;
  Service& operator=(Service&&) noexcept;
  ~Service();

  Called<RunName> start_run(const StartRequest& request);
  // Of the request: all but what describes a driver that the service forks.
  Called<OpenedRun> open_run(const StartRequest& request);
  Called<void> attach(const std::string& run_path, uint32_t pid);
  // `exit` is a word of run::DriverExit.
  Called<void> report_exit(const std::string& run_path, const std::string& exit, int32_t status);
  // The final report. As long as it takes: the service has bounds of its own.
  Called<json> end_run(const EndRequest& request);
  // Asks for an end and returns at once. Of the reply an error is told, if anybody is there to be
  // told; that happens while another call is waited for.
  void post_end_run(const EndRequest& request, std::function<void(const CallError&)> refused = {});
  // The run when it has come as far as `until` says ("driver", "settled", "ended"), or as it is
  // when `timeout` is over.
  Called<json> wait_run(const RunRef& run, const std::string& until, microseconds timeout);
  Called<json> get_report(const RunRef& run);
  Called<void> signal_run(const RunRef& run, const std::string& whom, int signal);
  Called<RunName> get_run(const std::string& id);
  Called<RunName> get_run_by_pid(uint32_t pid);
  Called<json> list_runs(const RunFilter& filter);           // objects, Id and so on among the keys
  Called<json> list_processes(const ProcessFilter& filter);  // all pages of it
  Called<json> list_leaks(const ProcessFilter& filter);      // all pages of it
  Called<void> forget_run(const RunRef& run);
  Called<json> get_configuration();  // objects of Section, Key, Value and Source
  Called<json> properties(const std::string& run_path);
  // A single property, without serving anything meanwhile: for use inside those callbacks.
  Called<json> property(const std::string& run_path, const std::string& name);

  // While a call is waited for, `ready` is called whenever `fd` (borrowed) is readable.
  void watch(int fd, base::Callback<void()> ready);
  // While a call is waited for, `tick` is called once a period; an empty one ends it.
  void every(std::chrono::milliseconds period, base::Callback<void()> tick);
  // For those callbacks: the call that is waited for fails, without a name, and so do all to come.
  void interrupt();

 private:
  class Connection;
  class Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::cli
