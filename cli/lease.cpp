#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/span.h"
#include "cli/attached_driver.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/printable.h"

namespace corral::cli {
namespace {

// Executes the command as `run` does, without a run; the lease is ours alone.
int hold_while(const Session& session, const std::string& id) {
  const Arguments& arguments = session.arguments;
  const LeaseRequest& request = arguments.lease;
  const auto signals = HeldSignals::begin();
  if (!signals) return fail(arguments, id, signals.error());
  const ChildPlan plan{request.argv, Surroundings::of_process().environment, ""};
  // Forked before there is a lease: no child holds it.
  auto driver = AttachedDriver::park(nullptr, plan, *signals);
  if (!driver) return fail(arguments, id, driver.error());
  signals->lift();  // until it runs, what ends us is to end it, too
  const auto lease = session.service.acquire_lease(id, request.who, request.why);
  if (!lease) {
    driver->abandon();
    return fail(arguments, id, lease.error());
  }
  driver->release();
  const DriverEnd end = driver->wait();
  AttachedDriver::reap();
  if (driver->failure())
    write_error(fmt::format("corralctl: {}\n", printable(driver->failure()->message)));
  if (end.exit != run::DriverExit::exited) die_by(end.status);
  return status_of_driver(end.exit, end.status);
}

struct Leased {
  json object;
  bool any = false;
};

// What is asked of one run for the list. A run that has gone has none.
Leased leases_of(Service& service, const json& run) {
  const auto properties = service.properties(run.value("Path", ""));
  if (!properties) return {};
  json object;
  for (const char* key : {"Id", "Invocation", "LeaseUSec", "Leases"})
    object[key] = properties->value(key, json());
  const bool timed = object["LeaseUSec"].is_number() && object["LeaseUSec"] != UINT64_MAX;
  return {object, timed || (object["Leases"].is_array() && !object["Leases"].empty())};
}

void add_rows(Table& table, const json& run) {
  const auto add = [&](const std::string& lease) {
    table.add({{run.value("Id", "")}, {run.value("Invocation", "")}, {lease}});
  };
  if (run["LeaseUSec"].is_number() && run["LeaseUSec"] != UINT64_MAX)
    add("renewed within " + base::exact_span(microseconds{run["LeaseUSec"].get<int64_t>()}));
  for (const json& lease : run["Leases"])
    if (lease.is_string()) add(lease.get<std::string>());
}

int list_leases(const Session& session) {
  const Arguments& arguments = session.arguments;
  const auto runs = session.service.list_runs({});
  if (!runs) return fail(arguments, "", runs.error());
  const std::string only = arguments.names.empty() ? "" : arguments.names.front();
  json leased = json::array();
  Table table({{"RUN"}, {"INVOCATION", false, true}, {"LEASE"}});
  bool found = only.empty();
  for (const json& run : *runs) {
    if (!only.empty() && run.value("Id", "") != only) continue;
    found = true;
    auto of_run = leases_of(session.service, run);
    if (!of_run.any) continue;
    add_rows(table, of_run.object);
    leased.push_back(std::move(of_run.object));
  }
  if (!found) return fail(arguments, only, Error{"no live run of that id", 0});
  if (arguments.json) return print_json(arguments, leased);
  std::string text = table.text(session.output.out, arguments.legend);
  if (arguments.legend)
    text += fmt::format("{}{} listed.\n", table.size() == 0 ? "" : "\n",
                        count_text(table.size(), "lease", "leases"));
  return print(arguments, text);
}

}  // namespace

int lease_run(const Session& session) {
  const LeaseRequest& request = session.arguments.lease;
  if (request.list) return list_leases(session);
  const std::string& id = session.arguments.names.front();
  if (!request.argv.empty()) return hold_while(session, id);
  const auto renewed = session.service.renew_lease(id, request.ttl.value_or(microseconds{0}));
  return renewed ? kSuccess : fail(session.arguments, id, renewed.error());
}

}  // namespace corral::cli
