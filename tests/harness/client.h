#pragma once

#include <sdbus-c++/Types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/unique_fd.h"

namespace corral::harness {

using Dict = std::map<std::string, sdbus::Variant>;

// The name and message of a D-Bus error reply, or of what the bus library says instead of one.
struct CallError {
  std::string name;
  std::string message;
};
template <typename T>
using Answer = tl::expected<T, CallError>;

// The answer's value, or an exception with the error, which fails the test that is running.
template <typename T>
T must(Answer<T> answer) {
  if (!answer) throw std::runtime_error(answer.error().name + ": " + answer.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*answer);
}
// The error's name, "" for a call that succeeded.
template <typename T>
std::string error_of(const Answer<T>& answer) {
  return answer ? "" : answer.error().name;
}

// The entry `key` of `dict` as T, e.g. value<uint64_t>(report, "LeaksFound"); throws where it is
// absent or of another type.
template <typename T>
T value(const Dict& dict, const std::string& key) {
  const auto entry = dict.find(key);
  if (entry == dict.end()) throw std::out_of_range("no entry " + key);
  return entry->second.get<T>();
}

struct Started {
  std::string path;
  std::string invocation;
};
struct Opened {
  std::string path;
  std::string invocation;
  std::string directory;
};
struct Named {
  std::string path;
  std::string id;
  std::string invocation;
};
struct SettingRow {
  std::string section, key, value, source;
};
struct RunRow {
  std::string id;
  std::string invocation;
  std::string path;
  std::string state;
  Dict more;
};

inline constexpr const char* kErrorPrefix = "org.corral.Corral1.Error.";

// A caller of the service, on a bus connection of its own, over the generated proxies. One thread.
class Client {
 public:
  // Connects to the bus at `address`; throws where it cannot.
  explicit Client(const std::string& address);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  Answer<Started> start_run(const std::string& id, const std::vector<std::string>& argv,
                            const Dict& options = {});
  Answer<Opened> open_run(const std::string& id, const Dict& options = {});
  // On the run's object at `path`.
  Answer<void> attach(const std::string& path, uint32_t pid);
  Answer<void> report_exit(const std::string& path, const std::string& exit, int32_t status);
  Answer<Dict> end_run(const std::string& id, const Dict& options = {});
  Answer<std::vector<Dict>> end_runs(const Dict& options = {});
  Answer<void> freeze_run(const std::string& id, const Dict& options = {});
  Answer<void> thaw_run(const std::string& id, const Dict& options = {});
  Answer<void> set_run(const std::string& id, const Dict& options);
  Answer<void> renew_lease(const std::string& id, uint64_t ttl_usec);
  Answer<UniqueFd> acquire_lease(const std::string& id, const std::string& who,
                                 const std::string& why);
  Answer<Started> adopt_processes(const std::string& id, const std::vector<uint32_t>& pids,
                                  const Dict& options = {});
  // On the run's object at `path`.
  Answer<Named> release(const std::string& path, const std::vector<uint32_t>& pids);
  Answer<void> set_enforcement(const std::string& value);
  Answer<Dict> wait_run(const std::string& id, const Dict& options = {});
  Answer<Dict> get_report(const std::string& id, const Dict& options = {});
  Answer<void> signal_run(const std::string& id, const std::string& whom, int signal,
                          const Dict& options = {});
  Answer<Named> get_run(const std::string& id);
  Answer<Named> get_run_by_pid(uint32_t pid);
  Answer<std::vector<RunRow>> list_runs(const Dict& filter = {});
  Answer<std::vector<Dict>> list_processes(const Dict& filter = {});
  Answer<std::vector<Dict>> list_leaks(const Dict& filter = {});
  Answer<void> forget_run(const std::string& id, const Dict& options = {});

  Answer<std::vector<SettingRow>> get_configuration();

  // Of the manager, and of the run's object at `path`.
  Answer<sdbus::Variant> manager_property(const std::string& name);
  Answer<sdbus::Variant> run_property(const std::string& path, const std::string& name);
  Answer<Dict> run_properties(const std::string& path);

  // Waits until the run says `state` in its property State; false at the deadline.
  bool wait_state(const std::string& id, const std::string& state);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::harness
