#pragma once

#include <memory>
#include <string>

#include "base/callback.h"
#include "base/result.h"
#include "dbus/calls.h"

struct sd_event;

namespace corral::dbus {

enum class BusKind { system, user, address };
struct BusAddress {
  BusKind kind = BusKind::system;
  std::string address;  // D-Bus address; kind address only

  // "system", "user", or a D-Bus address.
  static BusAddress parse(const std::string& text);
};

inline constexpr const char* kServiceName = "org.corral.Corral1";
inline constexpr const char* kManagerPath = "/org/corral/Corral1";

// /org/corral/Corral1/run/<id, escaped as sd_bus_path_encode(3)>/<invocation>
std::string run_path(const run::RunId& id, const run::Invocation& invocation);

// The interface on the bus: one connection, the manager object and an object a run. All on the
// caller's event loop (sd-event(3)), which must outlive it; it owns no thread.
class Server {
 public:
  // Connects and exports the manager object, without asking for the name: recovery comes first.
  // `lost` is called once, from the loop, when the connection is gone.
  static Result<std::unique_ptr<Server>> open(const BusAddress& bus, sd_event* loop, Calls& calls,
                                              base::Callback<void()> lost);
  ~Server();

  // Asks for org.corral.Corral1; EEXIST where another has it.
  Result<void> request_name();

  // A run's object appears and goes. The status is borrowed until withdraw(), which is safe inside
  // a call on that very object.
  void publish(const run::Status& status);
  void withdraw(const run::Invocation& invocation);
  // PropertiesChanged on the run's object for what each_property() or the timestamps name.
  void changed(const run::Status& status, const std::vector<std::string>& properties);
  // The four signals of the manager. RunEnded is followed by nothing of that invocation.
  void run_started(const run::Status& status);
  void driver_exited(const run::Status& status);
  void leaks_found(const run::Status& status);
  void run_ended(const run::Status& status);
  // PropertiesChanged on the manager (Runs, Leaks).
  void manager_changed(const std::vector<std::string>& properties);

  // Sends what is queued; for the end of the process.
  void flush();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace corral::dbus
