#include "cli/arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/clock.h"
#include "base/escape.h"
#include "base/parse.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "dbus/requests.h"
#include "run/id.h"

namespace corral::cli {
namespace {

using Words = std::vector<std::string>;

// What is asked for once and needs more than one option to be understood.
struct Raw {
  std::optional<std::string> bus;
  bool system = false, user = false, no_legend = false;
  Words settings;
  std::string fail_on_leak;
};

[[noreturn]] void reject(const std::string& option, const std::string& problem) {
  throw CLI::ValidationError(option, problem);
}

// An option whose text becomes a value through `parse`; nullopt is refused as "not <what>".
template <typename T, typename Parse>
void add_parsed(CLI::App& app, const std::string& flags, T& target, Parse parse,
                const std::string& what, const std::string& help) {
  app.add_option_function<std::string>(
         flags,
         [&target, parse, what, flags](const std::string& text) {
           auto value = parse(text);
           if (!value) reject(flags, fmt::format("\"{}\" is not {}", text, what));
           target = *value;
         },
         help)
      ->type_name("");
}

// `most` is the service's bound, whose message would name an option of D-Bus, and microseconds.
void add_span(CLI::App& app, const std::string& flags, std::optional<microseconds>& target,
              microseconds most, const std::string& help) {
  const auto parse = [most](const std::string& text) {
    const auto span = parse_span(text);
    return span && *span <= most ? span : std::nullopt;
  };
  add_parsed(app, flags, target, parse,
             fmt::format("a time span such as 200ms, 5s or 1min, of at most {}", span_text(most)),
             help);
}

void add_invocation(CLI::App& app, Arguments& arguments) {
  const auto parse = [](const std::string& text) -> std::optional<std::string> {
    return run::Invocation::parse(text) ? std::optional(text) : std::nullopt;
  };
  add_parsed(app, "--invocation", arguments.invocation, parse, "an invocation (32 hex digits)",
             "Only this invocation of the run");
}

void add_label(CLI::App& app, Arguments& arguments) {
  const auto add = [&arguments](const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      reject("--label", fmt::format("\"{}\" is not KEY=VALUE", text));
    arguments.start.labels[text.substr(0, equals)] = text.substr(equals + 1);
  };
  app.add_option_function<Words>(
         "--label", [add](const Words& texts) { std::for_each(texts.begin(), texts.end(), add); },
         "Label of the run, KEY=VALUE; may be given again")
      ->allow_extra_args(false)
      ->type_name("");
}

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

void define_start(CLI::App& app, Arguments& arguments) {
  StartRequest& start = arguments.start;
  add_parsed(
      app, "--id", start.id,
      [](const std::string& text) {
        return run::RunId::parse(text) ? std::optional(text) : std::nullopt;
      },
      fmt::format("an id ({})", run::RunId::kRule), "Name of the run (default: a fresh one)");
  app.add_option("--owner", start.owner, "Name of who owns it; grants nothing")->type_name("");
  app.add_option("--token", start.token, "Same id and token: the same invocation")->type_name("");
  app.add_option("--description", start.description, "A line for people")->type_name("");
  add_label(app, arguments);
  add_span(app, "--settle", start.settle, dbus::kLongestSettle,
           "Time for helpers to finish after the driver's exit");
  add_span(app, "--grace", start.grace, dbus::kLongestGrace,
           "Time between the first signal and the kill");
  add_parsed(app, "--term-signal", start.term_signal, parse_signal, "a signal",
             "What the driver is asked to end with (default: TERM)");
  app.add_option("--working-directory", start.working_directory, "Default: this one")
      ->type_name("");
  add_stream(app, "--stdin", start.input, true);
  add_stream(app, "--stdout", start.output, false);
  add_stream(app, "--stderr", start.error, false);
}

void define_run(CLI::App& app, Arguments& arguments, Raw& raw) {
  app.add_flag("-d,--detach", arguments.detach, "Start it, print ID and INVOCATION, and return");
  define_start(app, arguments);
  add_setenv(app, raw);
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

void define_filters(CLI::App& list, CLI::App& ps, CLI::App& leaks, Arguments& arguments) {
  list.add_flag("-a,--all", arguments.runs.all, "Ended ones too");
  list.add_option("--owner", arguments.runs.owner, "Only of this owner")->type_name("");
  list.add_option("--state", arguments.runs.state, "Only in this state")->type_name("");
  list.add_option("--label", arguments.runs.label, "Only with KEY or KEY=VALUE")->type_name("");
  for (CLI::App* app : {&ps, &leaks}) {
    app->add_option("--owner", arguments.processes.owner, "Only of this owner's runs")
        ->type_name("");
    app->add_option("--label", arguments.processes.label, "Only of runs with KEY or KEY=VALUE")
        ->type_name("");
    app->add_option("--port", arguments.processes.port, "Only what listens there")->type_name("");
    app->add_option("ID", arguments.names, "Runs (default: all)")->type_name("");
  }
}

CLI::App& add_named(CLI::App& app, const char* name, const char* help, const char* operand,
                    Arguments& arguments, bool several) {
  CLI::App& command = *app.add_subcommand(name, help);
  CLI::Option* names = command.add_option(operand, arguments.names, "")->required()->type_name("");
  if (!several) names->expected(1);
  return command;
}

void define_acts(CLI::App& app, Arguments& arguments) {
  CLI::App& end = add_named(app, "end", "End runs and wait until nothing is left of them", "ID",
                            arguments, true);
  add_span(end, "--grace", arguments.grace, dbus::kLongestEndGrace,
           "Time between the first signal and the kill");
  end.add_option("--reason", arguments.reason, "For the report")->type_name("");
  CLI::App& wait = add_named(app, "wait", "Wait for a run's end and exit with its driver's status",
                             "ID", arguments, false);
  CLI::App& report = add_named(app, "report", "Show what came of a run", "ID", arguments, false);
  CLI::App& kill =
      add_named(app, "kill", "Send a signal to a run's processes", "ID", arguments, false);
  add_parsed(kill, "-s,--signal", arguments.signal, parse_signal, "a signal", "Default: TERM");
  kill.add_option("--whom", arguments.whom, "driver or all (default)")
      ->check(CLI::IsMember({"driver", "all"}))
      ->type_name("");
  CLI::App& forget =
      add_named(app, "forget", "Drop ended runs and their reports", "ID", arguments, true);
  for (CLI::App* command : {&end, &wait, &report, &kill, &forget})
    add_invocation(*command, arguments);
}

void define_global(CLI::App& app, Arguments& arguments, Raw& raw) {
  auto* bus =
      app.add_option("--bus", raw.bus, "system, user, or a D-Bus address")->type_name("ADDRESS");
  auto* system = app.add_flag("--system", raw.system, "The system's bus");
  auto* user = app.add_flag("--user", raw.user, "The user's bus");
  auto* embedded = app.add_flag("--embedded", arguments.embedded,
                                "run: with a service of its own, for as long as the run lives");
  bus->excludes(system)->excludes(user)->excludes(embedded);
  system->excludes(user)->excludes(embedded);
  user->excludes(embedded);
  const auto parse = [](const std::string& text) -> std::optional<JsonStyle> {
    if (text == "short") return JsonStyle::compact;
    if (text == "pretty") return JsonStyle::pretty;
    return std::nullopt;
  };
  add_parsed(app, "--json", arguments.json, parse, "short or pretty",
             "Output as JSON: short or pretty");
  app.add_flag("--no-legend", raw.no_legend, "Neither titles nor the count below a table");
  app.set_version_flag("--version", "corralctl " CORRAL_VERSION);
}

// Defines everything; the subcommands are in the order of Command.
std::vector<CLI::App*> define(CLI::App& app, Arguments& arguments, Raw& raw) {
  define_global(app, arguments, raw);
  define_run(*app.add_subcommand("run", "Start a command as a run"), arguments, raw);
  CLI::App& list = *app.add_subcommand("list", "List runs");
  add_named(app, "status", "Show runs and their process trees", "ID|PID|:PORT", arguments, true);
  CLI::App& ps = *app.add_subcommand("ps", "List processes of live runs");
  CLI::App& leaks = *app.add_subcommand("leaks", "List what outlived its driver");
  define_filters(list, ps, leaks, arguments);
  define_acts(app, arguments);
  app.add_subcommand("config", "Show the service's configuration, and where it comes from");
  app.require_subcommand(0, 1);
  std::vector<CLI::App*> commands;
  for (const char* name : {"run", "list", "status", "ps", "end", "leaks", "wait", "report", "kill",
                           "forget", "config"}) {
    commands.push_back(app.get_subcommand(name));
    commands.back()->fallthrough();
  }
  return commands;
}

// D-Bus strings are UTF-8 without exception. The command of an attached run, after "--", is none.
void check_utf8(const Words& words, bool attached = false) {
  const auto end = attached ? std::find(words.begin(), words.end(), "--") : words.end();
  for (const std::string& word : Words(words.begin(), end))
    if (!base::is_utf8(word))
      reject(fmt::format("\"{}\"", base::escape(word)), "not UTF-8, which the bus cannot carry");
}

void check_environment(const Words& environment) {
  for (const std::string& entry : environment)
    if (!base::is_utf8(entry))
      reject("variable " + base::escape(entry.substr(0, entry.find('='))),
             "not UTF-8, which the bus cannot carry; unset it, or set it with --setenv");
}

// Which options of `run` go together.
void check_run(const Arguments& arguments) {
  const StartRequest& start = arguments.start;
  if (arguments.embedded && arguments.detach)
    reject("--detach", "a run cannot outlive its embedded service");
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

// CLI11 takes it for --fail-on-leak.
void check_leak_status(const Words& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (std::find(words.begin(), end, "--fail-on-leak=") != end)
    reject("--fail-on-leak", "\"\" is not an exit status (1 to 255)");
}

// The checks that need more than one option.
void complete(Arguments& arguments, const Raw& raw, const Surroundings& surroundings) {
  arguments.bus = choose_bus(raw.bus, raw.system, raw.user, surroundings);
  arguments.legend = !raw.no_legend;
  if (arguments.signal == 0) arguments.signal = SIGTERM;
  if (arguments.whom.empty()) arguments.whom = "all";
  const bool run = arguments.command == Command::run;
  if (arguments.embedded && !run) reject("--embedded", "goes with run only");
  if (!run) return;
  check_run(arguments);
  take_leak_status(arguments, raw.fail_on_leak);
  StartRequest& start = arguments.start;
  if (start.id.empty()) start.id = surroundings.fresh_id;
  start.environment = with_settings(surroundings.environment, raw.settings);
  if (arguments.attached()) return;  // what follows goes over the bus
  if (start.working_directory.empty()) start.working_directory = surroundings.directory;
  // What has no '=' is no variable, and the service would refuse it.
  std::erase_if(start.environment,
                [](const std::string& e) { return e.find('=') == std::string::npos; });
  check_environment(start.environment);
  check_utf8({start.working_directory});
}

// CLI11 shows a flag's default as it is defined.
std::string readable(std::string help) {
  constexpr std::string_view kDefined = "--fail-on-leak{3}", kMeant = "--fail-on-leak[=N]";
  if (const size_t at = help.find(kDefined); at != std::string::npos) {
    help.replace(at, kDefined.size(), kMeant);
    if (help.compare(at + kMeant.size(), 1, " ") == 0) help.erase(at + kMeant.size(), 1);
  }
  return help;
}

Leave usage_error(const CLI::App& app, const CLI::ParseError& error, bool passes_status_on) {
  const auto rest = app.remaining();
  const bool no_command = app.get_subcommands().empty();
  const std::string problem = no_command && !rest.empty() && !rest.front().starts_with('-')
                                  ? fmt::format("unknown command \"{}\"", rest.front())
                                  : error.what();
  return {passes_status_on ? kOwnFailure : kUsage,
          fmt::format("corralctl: {}\nTry \"corralctl --help\".\n", problem)};
}

}  // namespace

std::variant<Arguments, Leave> parse_arguments(const Words& words,
                                               const Surroundings& surroundings) {
  Arguments arguments;
  Raw raw;
  CLI::App app{"Start, watch and end runs of the containment service.", "corralctl"};
  const std::vector<CLI::App*> commands = define(app, arguments, raw);
  const auto given = [&](Command command) {
    return commands[static_cast<size_t>(command)]->parsed();
  };
  try {
    check_leak_status(words);
    app.parse(Words(words.rbegin(), words.rend()));  // CLI11 takes them from the back
    if (app.get_subcommands().empty()) throw CLI::RequiredError("a command");
    const auto found = std::find(commands.begin(), commands.end(), app.get_subcommands().front());
    arguments.command = static_cast<Command>(found - commands.begin());
    check_utf8(words, arguments.attached());
    complete(arguments, raw, surroundings);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return Leave{
        kSuccess,
        readable(
            (chosen.empty() ? &app : chosen.front())->help(chosen.empty() ? "" : "corralctl"))};
  } catch (const CLI::CallForVersion& version) {
    return Leave{kSuccess, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error, given(Command::run) || given(Command::wait));
  }
  return arguments;
}

dbus::BusAddress choose_bus(const std::optional<std::string>& bus, bool system, bool user,
                            const Surroundings& surroundings) {
  if (bus) return dbus::BusAddress::parse(*bus);
  if (system) return {dbus::BusKind::system, ""};
  if (user) return {dbus::BusKind::user, ""};
  const auto address = surroundings.variable("CORRAL_BUS_ADDRESS");
  if (address && !address->empty()) return dbus::BusAddress::parse(*address);
  return {surroundings.uid == 0 ? dbus::BusKind::system : dbus::BusKind::user, ""};
}

Words with_settings(Words environment, const Words& settings) {
  for (const std::string& setting : settings) {
    const std::string start = setting.substr(0, setting.find('=') + 1);
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(start); });
    environment.push_back(setting);
  }
  return environment;
}

Surroundings Surroundings::of_process() {
  Surroundings surroundings;
  surroundings.uid = geteuid();
  for (char** entry = environ; *entry != nullptr; ++entry)
    surroundings.environment.emplace_back(*entry);
  std::error_code error;
  surroundings.directory = std::filesystem::current_path(error).string();
  surroundings.fresh_id = "run-" + base::random_hex().substr(0, 8);
  return surroundings;
}

std::optional<std::string> Surroundings::variable(const std::string& name) const {
  const std::string start = name + "=";
  for (const std::string& entry : environment)
    if (entry.starts_with(start)) return entry.substr(start.size());
  return std::nullopt;
}

}  // namespace corral::cli
