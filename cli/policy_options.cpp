#include "cli/options.h"
#include "cli/printable.h"

namespace corral::cli {
namespace {

void define_set(CLI::App& app, Arguments& arguments) {
  CLI::App& set = add_named(app, "set", "Change a live run", "ID", arguments, false);
  SetRequest& change = arguments.change;
  add_text(set, "--owner", change.owner, "Name of who owns it");
  add_text(set, "--description", change.description, "A line for people");
  add_label(set, change.labels);
  add_limit(set, "--max-time", change.runtime_max, "End it that long after its start");
  add_invocation(set, arguments);
}

void define_lease(CLI::App& app, Arguments& arguments) {
  CLI::App& lease = *app.add_subcommand("lease", "Hold a run's lease while a command runs");
  lease.add_option("ID", arguments.names, "The run")
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("");
  lease.add_option("--who", arguments.lease.who, "Who holds it (default: CMD)")->type_name("");
  lease.add_option("--why", arguments.lease.why, "Why")->type_name("");
  add_span(lease, "--ttl", arguments.lease.ttl, kNoLimit,
           "Without CMD: it is lost unless renewed within that time");
  lease.add_flag("--drop", arguments.lease.drop, "Without CMD: give up that of --ttl");
  lease.add_flag("--list", arguments.lease.list, "List the leases of live runs");
  lease.add_option("CMD", arguments.lease.argv, "Command line, after --")->type_name("");
}

void complete_lease(Arguments& arguments) {
  LeaseRequest& lease = arguments.lease;
  const bool command = !lease.argv.empty();
  if (int{command} + int{lease.ttl.has_value()} + int{lease.drop} + int{lease.list} != 1)
    reject("lease", "needs one of a CMD after --, --ttl, --drop and --list");
  if (arguments.names.empty() && !lease.list) reject("ID", "is required");
  if (!command && !(lease.who.empty() && lease.why.empty()))
    reject("lease", "--who and --why go with a CMD");
  if (lease.ttl && lease.ttl->count() == 0) reject("--ttl", "is no time; --drop gives it up");
  if (lease.who.empty()) lease.who = fitted(command_text(lease.argv), 100);
}

void complete_set(const Arguments& arguments) {
  const SetRequest& change = arguments.change;
  if (!change.owner && !change.description && change.labels.empty() && !change.runtime_max)
    reject("set", "needs one of --owner, --description, --label and --max-time");
}

}  // namespace

void define_policies(CLI::App& app, Arguments& arguments) {
  CLI::App& freeze =
      add_named(app, "freeze", "Freeze all processes of runs", "ID", arguments, true);
  CLI::App& thaw = add_named(app, "thaw", "Undo a freeze", "ID", arguments, true);
  for (CLI::App* command : {&freeze, &thaw}) add_invocation(*command, arguments);
  define_set(app, arguments);
  CLI::App& release =
      add_named(app, "release", "Move processes into a run of their own", "ID", arguments, false);
  add_pids(release, arguments);
  define_lease(app, arguments);
  CLI::App& enforcement =
      *app.add_subcommand("enforcement", "Show or switch whether ends of runs act");
  add_choice(enforcement, "MODE", arguments.enforcement, {"enforce", "observe"}, "Switch to");
  enforcement.add_option("--run", arguments.names, "Of this run alone")
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("");
}

void complete_policy(Arguments& arguments) {
  if (arguments.command == Command::lease) complete_lease(arguments);
  if (arguments.command == Command::set) complete_set(arguments);
}

}  // namespace corral::cli
