#include "cli/decode.h"

#include <nlohmann/json.hpp>

#include "run/json_fields.h"

namespace corral::cli {
namespace {

using nlohmann::json;

template <typename T, typename Read>
Result<T> decoded(const char* what, const json& object, Read read) {
  if (!object.is_object()) return Error{std::string(what) + " of the service: no dictionary", 0};
  std::optional<Error> wrong;
  T value{};
  run::FieldReader reader(object, std::string(what) + " of the service: ", wrong);
  read(value, reader);
  if (wrong) return std::move(*wrong);
  return value;
}

// UINT64_MAX, and a key that is absent, mean that there is none.
void read_limit(run::FieldReader& reader, const char* key,
                std::optional<std::chrono::microseconds>& field) {
  std::optional<uint64_t> usec;
  reader(key, usec);
  if (usec && *usec <= static_cast<uint64_t>(INT64_MAX)) field = std::chrono::microseconds(*usec);
}

// What is shown of a policy; the settle time and the grace are not.
void read_policy(run::FieldReader& reader, run::Status& status) {
  std::optional<run::OnDriverExit> on_driver_exit;
  std::optional<std::vector<std::string>> keep, leases;
  reader("OnDriverExit", on_driver_exit);
  reader("Keep", keep);
  reader("Leases", leases);
  status.policy.on_driver_exit = on_driver_exit.value_or(run::OnDriverExit::kill);
  if (keep) status.policy.keep = std::move(*keep);
  if (leases) status.leases = std::move(*leases);
  read_limit(reader, "RuntimeMaxUSec", status.policy.runtime_max);
  read_limit(reader, "HoldMaxUSec", status.policy.hold_max);
  read_limit(reader, "LeaseUSec", status.policy.lease);
}

}  // namespace

Result<run::Report> report_of(const json& object) {
  return decoded<run::Report>("report", object, [](run::Report& report, run::FieldReader& reader) {
    run::each_field(report, reader);
  });
}

Result<run::Status> status_of(const json& properties) {
  return decoded<run::Status>("properties", properties,
                              [](run::Status& status, run::FieldReader& reader) {
                                run::each_property(status, reader);
                                read_policy(reader, status);
                                run::Report& report = status.report;
                                reader("StartTimestamp", report.start.realtime_usec);
                                reader("StartTimestampMonotonic", report.start.monotonic_usec);
                                reader("DriverExitTimestamp", report.driver_exited.realtime_usec);
                                reader("EndTimestamp", report.end.realtime_usec);
                                reader("EndTimestampMonotonic", report.end.monotonic_usec);
                              });
}

Result<run::Status> listed_status_of(const json& row) {
  return decoded<run::Status>("run", row, [](run::Status& status, run::FieldReader& reader) {
    run::Report& report = status.report;
    reader("Id", report.id);
    reader("Invocation", report.invocation);
    reader("State", report.state);
    reader("Owner", report.owner);
    reader("Description", status.description);
    reader("Result", report.result);
    reader("DriverPID", status.driver_pid);
    reader("Leaks", report.leaks_found);
    reader("StartTimestamp", report.start.realtime_usec);
  });
}

Result<std::vector<run::Process>> process_rows(const json& array) {
  std::vector<run::Process> rows;
  for (const json& object : array) {
    auto row = decoded<run::Process>(
        "process", object,
        [](run::Process& r, run::FieldReader& reader) { run::each_field(r, reader); });
    if (!row) return row.error();
    rows.push_back(std::move(*row));
  }
  return rows;
}

}  // namespace corral::cli
