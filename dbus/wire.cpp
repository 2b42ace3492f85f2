#include "dbus/wire.h"

#include <sdbus-c++/Types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/escape.h"
#include "dbus/fit.h"
#include "dbus/paths.h"

namespace corral::dbus {
namespace {

using sdbus::Message;

// An a{sv} that is being written: add() each field, then close().
class Fields {
 public:
  explicit Fields(Message& message) : message_(message) { message_.openContainer("{sv}"); }
  void close() { message_.closeContainer(); }

  template <typename T>
  void add(const char* name, const T& value);

 private:
  Message& message_;
};

void append_value(Message& message, const std::string& text) {
  append_text(message, text);
}

template <typename T>
requires std::is_arithmetic_v<T>
void append_value(Message& message, T number) {
  message << number;
}

void append_value(Message& message, const std::vector<std::string>& texts) {
  message.openContainer("s");
  for (const auto& text : texts) append_text(message, text);
  message.closeContainer();
}

void append_value(Message& message, const std::map<std::string, std::string>& dictionary) {
  message.openContainer("{ss}");
  for (const auto& [key, value] : dictionary) {
    message.openDictEntry("ss");
    append_text(message, key);
    append_text(message, value);
    message.closeDictEntry();
  }
  message.closeContainer();
}

void append_value(Message& message, const sdbus::ObjectPath& path) {
  message << path;
}

void append_value(Message& message, const std::vector<run::Process>& processes) {
  message.openContainer("a{sv}");
  for (const auto& process : processes) {
    Fields fields(message);
    run::each_field(process, [&](const char* name, const auto& value) { fields.add(name, value); });
    fields.close();
  }
  message.closeContainer();
}

template <typename T>
constexpr bool kIsOptional = false;
template <typename T>
constexpr bool kIsOptional<std::optional<T>> = true;

template <typename T>
std::string signature() {
  if constexpr (std::is_same_v<T, std::vector<run::Process>>)
    return "aa{sv}";
  else
    return sdbus::signature_of<T>::str();
}

template <typename T>
void Fields::add(const char* name, const T& value) {
  if constexpr (kIsOptional<T>) {
    if (value) add(name, *value);
  } else if constexpr (std::is_enum_v<T>) {
    add(name, std::string(run::word(value)));
  } else if constexpr (std::is_same_v<T, std::chrono::microseconds>) {
    add(name, static_cast<uint64_t>(value.count()));
  } else {
    message_.openDictEntry("sv");
    message_ << name;
    message_.openVariant(signature<T>());
    append_value(message_, value);
    message_.closeVariant();
    message_.closeDictEntry();
  }
}

void add_moment(Fields& fields, const std::string& name, const base::Moment& moment) {
  fields.add(name.c_str(), moment.realtime_usec);
  fields.add((name + "Monotonic").c_str(), moment.monotonic_usec);
}

}  // namespace

void append_text(Message& message, const std::string& text) {
  if (base::is_utf8(text)) {
    message << text;
  } else {
    message << base::escape(text);
  }
}

void append_report(Message& message, const run::Report& report) {
  Fields fields(message);
  run::each_field(report, [&](const char* name, const auto& value) { fields.add(name, value); });
  fields.close();
}

void append_status(Message& message, const run::Status& status) {
  Fields fields(message);
  run::each_property(status, [&](std::string_view name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, uint64_t>) {
      const bool is_count = name == "Leaks" || name == "Stuck";
      if (is_count) return fields.add(name.data(), count32(value));
    }
    fields.add(name.data(), value);
  });
  fields.add("Placement", std::string(kPlacement));
  fields.add("Parent", sdbus::ObjectPath(parent_path(status)));
  add_moment(fields, "StartTimestamp", status.report.start);
  add_moment(fields, "DriverExitTimestamp", status.report.driver_exited);
  add_moment(fields, "EndTimestamp", status.report.end);
  run::each_policy(status.policy, [&](const char* name, const auto& value) {
    if constexpr (kIsOptional<std::decay_t<decltype(value)>>)
      fields.add(name, limit(value));
    else
      fields.add(name, value);
  });
  fields.add("Leases", status.leases);
  fields.close();
}

void append_configuration(Message& message, std::span<const ConfigurationRow> rows) {
  message.openContainer("(ssss)");
  for (const auto& row : rows) {
    message.openStruct("ssss");
    for (const auto* text : {&row.section, &row.key, &row.value, &row.source})
      append_text(message, *text);
    message.closeStruct();
  }
  message.closeContainer();
}

void append_runs(Message& message, std::span<const run::Status* const> runs) {
  message.openContainer("(ssosa{sv})");
  for (const auto* status : runs) {
    const auto& report = status->report;
    message.openStruct("ssosa{sv}");
    append_text(message, report.id);
    append_text(message, report.invocation);
    message << sdbus::ObjectPath(run_path(report.id, report.invocation));
    message << std::string(run::word(report.state));
    Fields fields(message);
    each_summary(*status, [&](const char* name, const auto& value) { fields.add(name, value); });
    fields.close();
    message.closeStruct();
  }
  message.closeContainer();
}

void append_ended(Message& message, std::span<const EndedRow> rows) {
  message.openContainer("a{sv}");
  for (const auto& row : rows) {
    Fields fields(message);
    fields.add("Id", row.name.id.text());
    fields.add("Invocation", row.name.invocation.text());
    fields.add("State", row.state);
    fields.add("Processes", row.processes);
    fields.add("Outcome", row.outcome);
    fields.add("Message", row.message);
    fields.close();
  }
  message.closeContainer();
}

void append_rows(Message& message, std::span<const run::Process> rows) {
  message.openContainer("a{sv}");
  for (const auto& row : rows) {
    Fields fields(message);
    run::each_field(row, [&](const char* name, const auto& value) { fields.add(name, value); });
    fields.close();
  }
  message.closeContainer();
}

}  // namespace corral::dbus
