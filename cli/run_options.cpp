#include <algorithm>

#include "base/escape.h"
#include "base/parse.h"
#include "cli/human.h"
#include "cli/options.h"
#include "dbus/requests.h"

namespace corral::cli {
namespace {

void add_setenv(CLI::App& app, Raw& raw) {
  const auto check = [](const std::string& text) -> std::string {
    const size_t equals = text.find('=');
    return equals == 0 || equals == std::string::npos
               ? fmt::format("\"{}\" is not NAME=VALUE", text)
               : "";
  };
  app.add_option("--setenv", raw.settings, "Variable NAME=VALUE on top of this environment")
      ->check(CLI::Validator(check, ""))
      ->allow_extra_args(false)
      ->type_name("");
}

void add_stream(CLI::App& app, const std::string& flags, std::string& target, bool input) {
  const auto parse = [input](const std::string& text) -> std::optional<std::string> {
    const bool file = text.starts_with("append:") || text.starts_with("truncate:");
    return text == "null" || (file && !input) ? std::optional(text) : std::nullopt;
  };
  const char* what = input ? "null" : "null, append:PATH or truncate:PATH";
  add_parsed(app, flags, target, parse, what, fmt::format("The driver's: {}", what));
}

// What holds of any run, whoever forks its driver.
void define_opening(CLI::App& app, StartRequest& start) {
  add_id(app, "--id", start.id, "Name of the run (default: a fresh one)");
  add_text(app, "--owner", start.owner, "Name of who owns it; grants nothing");
  add_text(app, "--description", start.description, "A line for people");
  add_label(app, start.labels);
  add_span(app, "--settle", start.settle, dbus::kLongestSettle,
           "Time for helpers to finish after the driver's exit");
  add_span(app, "--grace", start.grace, dbus::kLongestGrace,
           "Time between the first signal and the kill");
  add_parsed(app, "--term-signal", start.term_signal, parse_signal, "a signal",
             "What the driver is asked to end with (default: TERM)");
  add_choice(app, "--on-driver-exit", start.on_driver_exit, {"kill", "freeze", "report"},
             "What becomes of leaks");
  app.add_option("--keep", start.keep,
                 "Spare processes of executables that match this glob; may be given again")
      ->allow_extra_args(false)
      ->type_name("");
  add_limit(app, "--max-time", start.runtime_max, "End it that long after its start");
  add_limit(app, "--hold-max", start.hold_max, "End it when leaks were held for that long");
  add_text(app, "--parent", start.parent, "Run that it is nested in; empty: none");
  add_choice(app, "--enforcement", start.enforcement, {"enforce", "observe"},
             "Whether its end acts");
}

void define_surroundings(CLI::App& app, Arguments& arguments, Raw& raw) {
  StartRequest& start = arguments.start;
  add_text(app, "--token", start.token, "Same id and token: the same invocation");
  app.add_option("--working-directory", start.working_directory, "Default: this one")
      ->type_name("");
  add_setenv(app, raw);
  add_stream(app, "--stdin", start.input, true);
  add_stream(app, "--stdout", start.output, false);
  add_stream(app, "--stderr", start.error, false);
}

void define_run(CLI::App& app, Arguments& arguments, Raw& raw) {
  app.add_flag("-d,--detach", arguments.detach, "Start it, print ID and INVOCATION, and return");
  define_opening(app, arguments.start);
  define_surroundings(app, arguments, raw);
  app.add_flag("-v,--verbose", arguments.verbose, "Print the report of a clean run, too");
  app.add_flag("-q,--quiet", arguments.quiet, "Print no report");
  app.add_flag("--fail-on-leak{3}", raw.fail_on_leak,
               "Exit with N (3) where a driver succeeded and left something behind");
  app.add_option("--report", arguments.report_file, "Write the report as JSON")->type_name("FILE");
  app.add_option("--cgroup-root", arguments.cgroup_root, "With --embedded: cgroup to work below")
      ->type_name("DIR");
  app.add_option("CMD", arguments.start.argv, "The driver's command line, after --")
      ->required()
      ->type_name("");
}

void check_environment(const Words& environment) {
  for (const std::string& entry : environment)
    if (!base::is_utf8(entry))
      reject("variable " + base::escape(entry.substr(0, entry.find('='))),
             "not UTF-8, which the bus cannot carry; unset it, or set it with --setenv");
}

// What a run leaves behind on purpose would be left to nobody.
void check_embedded(const Arguments& arguments) {
  const StartRequest& start = arguments.start;
  if (arguments.detach) reject("--detach", "a run cannot outlive its embedded service");
  const bool holds = start.on_driver_exit.value_or("kill") != "kill" || !start.keep.empty() ||
                     start.enforcement == "observe" || start.hold_max;
  if (holds)
    reject("--embedded",
           "leaves nothing behind; --on-driver-exit, --keep, --hold-max and "
           "--enforcement=observe need a service that stays");
}

// Which options of `run` go together.
void check_run(const Arguments& arguments) {
  const StartRequest& start = arguments.start;
  if (arguments.embedded) check_embedded(arguments);
  if (!arguments.embedded && arguments.cgroup_root)
    reject("--cgroup-root", "goes with --embedded only");
  if (arguments.detach && (arguments.report_file || arguments.verbose || arguments.quiet))
    reject("--detach", "--report, --verbose and --quiet are for a run that is waited for");
  if (arguments.attached() && start.token) reject("--token", "goes with --detach only");
  if (arguments.attached() && !(start.input.empty() && start.output.empty() && start.error.empty()))
    reject("run", "--stdin, --stdout and --stderr go with --detach only");
}

// Of --fail-on-leak[=N].
void take_leak_status(Arguments& arguments, const std::string& text) {
  if (text.empty()) return;
  if (arguments.detach) reject("--fail-on-leak", "is for a run that is waited for");
  const auto status = base::number<int>(text);
  if (!status || *status < 1 || *status > 255)
    reject("--fail-on-leak", fmt::format("\"{}\" is not an exit status (1 to 255)", text));
  arguments.fail_on_leak = status;
}

}  // namespace

void define_runs(CLI::App& app, Arguments& arguments, Raw& raw) {
  define_run(*app.add_subcommand("run", "Start a command as a run"), arguments, raw);
  CLI::App& adopt = *app.add_subcommand("adopt", "Make a run of processes that live already");
  define_opening(adopt, arguments.start);
  add_pids(adopt, arguments);
}

void complete_run(Arguments& arguments, const Raw& raw, const Surroundings& surroundings) {
  const bool run = arguments.command == Command::run;
  if (!run && arguments.command != Command::adopt) return;
  StartRequest& start = arguments.start;
  if (start.id.empty()) start.id = surroundings.fresh_id;
  if (!run) return;
  check_run(arguments);
  take_leak_status(arguments, raw.fail_on_leak);
  start.environment = with_settings(surroundings.environment, raw.settings);
  if (arguments.attached()) return;  // what follows goes over the bus
  if (start.working_directory.empty()) start.working_directory = surroundings.directory;
  // What has no '=' is no variable, and the service would refuse it.
  std::erase_if(start.environment,
                [](const std::string& e) { return e.find('=') == std::string::npos; });
  check_environment(start.environment);
  check_utf8({start.working_directory});
}

}  // namespace corral::cli
