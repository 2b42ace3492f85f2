#include "cli/options.h"

namespace corral::cli {
namespace {

void add_process_filter(CLI::App& app, Arguments& arguments) {
  add_text(app, "--owner", arguments.processes.owner, "Only of this owner's runs");
  add_text(app, "--label", arguments.processes.label, "Only of runs with KEY or KEY=VALUE");
  app.add_option("--port", arguments.processes.port, "Only what listens there")->type_name("");
  app.add_option("ID", arguments.names, "Runs (default: all)")->type_name("");
}

}  // namespace

void define_queries(CLI::App& app, Arguments& arguments) {
  CLI::App& list = *app.add_subcommand("list", "List runs");
  list.add_flag("-a,--all", arguments.runs.all, "Ended ones too");
  add_text(list, "--owner", arguments.runs.owner, "Only of this owner");
  add_text(list, "--state", arguments.runs.state, "Only in this state");
  add_text(list, "--label", arguments.runs.label, "Only with KEY or KEY=VALUE");
  add_named(app, "status", "Show runs and their process trees", "ID|PID|:PORT", arguments, true);
  app.add_subcommand("tree", "Show how live runs are nested, and their processes")
      ->add_option("ID", arguments.names, "A run and those in it (default: all)")
      ->expected(1)
      ->allow_extra_args(false)
      ->type_name("");
  add_process_filter(*app.add_subcommand("ps", "List processes of live runs"), arguments);
  add_process_filter(*app.add_subcommand("leaks", "List what outlived its driver"), arguments);
  app.add_subcommand("watch", "Show what happens to runs, as it happens");
  app.add_subcommand("config", "Show the service's configuration, and where it comes from");
}

}  // namespace corral::cli
