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
#include "base/unique_fd.h"
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

// What UINT64_MAX is on the bus.
inline constexpr microseconds kNoLimit = microseconds::max();

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
  std::optional<std::string> on_driver_exit = {}, enforcement = {};
  std::optional<std::string> parent = {};                       // "": none
  std::vector<std::string> keep = {};                           // globs
  std::optional<microseconds> runtime_max = {}, hold_max = {};  // kNoLimit for none
};

struct EndRequest {
  RunRef run;
  std::optional<microseconds> grace;
  std::string reason;
  bool no_block = false, allow_self = false;
};

// Which live runs are ended, and how.
struct EndsRequest {
  std::optional<std::string> owner, state, label;
  std::optional<microseconds> older_than, grace;
  std::string reason;
  bool dry_run = false;
};

// What is changed of a run; what is absent stays.
struct SetRequest {
  std::optional<std::string> owner, description, enforcement;
  std::map<std::string, std::string> labels;  // all of them; none: they stay
  std::optional<microseconds> runtime_max;    // kNoLimit for none
};

// A signal of the manager; what it does not carry is "" or 0.
struct RunSignal {
  std::string name, id, invocation, path;
  std::string exit;  // DriverExited
  int32_t status = 0;
  uint32_t count = 0;          // LeaksFound
  std::string result, reason;  // RunEnded
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

  // A row a run, with what became of it; returns when all have been ended as far as they can be.
  Called<json> end_runs(const EndsRequest& request);
  Called<void> freeze_run(const RunRef& run);
  Called<void> thaw_run(const RunRef& run);
  Called<void> set_run(const RunRef& run, const SetRequest& request);
  // 0 drops the lease.
  Called<void> renew_lease(const std::string& id, microseconds ttl);
  // Held until every copy of the fd is closed.
  Called<UniqueFd> acquire_lease(const std::string& id, const std::string& who,
                                 const std::string& why);
  // The run that they are in from now on.
  Called<RunName> release(const std::string& run_path, const std::vector<uint32_t>& pids);
  // Of the request: as open_run().
  Called<RunName> adopt(const StartRequest& request, const std::vector<uint32_t>& pids);
  Called<void> set_enforcement(const std::string& enforcement);
  Called<json> manager_properties();
  // Hands over the manager's signals as they come, until `told` returns false. An error where the
  // bus goes away; a service that restarts is heard again.
  Called<void> follow(const std::function<bool(const RunSignal&)>& told);

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
