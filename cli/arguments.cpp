#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/exit_status.h"
#include "cli/options.h"

namespace corral::cli {
namespace {

// In the order of Command.
constexpr std::array kWords = {"run",  "adopt",  "list",    "status", "tree",
                               "ps",   "leaks",  "watch",   "config", "end",
                               "wait", "report", "kill",    "forget", "freeze",
                               "thaw", "set",    "release", "lease",  "enforcement"};
static_assert(kWords.size() == static_cast<size_t>(Command::enforcement) + 1);

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
  define_runs(app, arguments, raw);
  define_queries(app, arguments);
  define_acts(app, arguments, raw);
  define_policies(app, arguments);
  app.require_subcommand(0, 1);
  std::vector<CLI::App*> commands;
  for (const char* name : kWords) {
    commands.push_back(app.get_subcommand(name));
    commands.back()->fallthrough();
  }
  return commands;
}

// "--owner=" means the empty text, and not, as the parser has it, the next word.
Words with_empty_texts(const Words& words) {
  Words all;
  bool options = true;
  for (const std::string& word : words) {
    options = options && word != "--";
    const bool empty = options && word.size() > 3 && word.starts_with("--") &&
                       word.find('=') == word.size() - 1 && word != "--fail-on-leak=";
    all.push_back(empty ? word.substr(0, word.size() - 1) : word);
    if (empty) all.emplace_back();
  }
  return all;
}

// The parser takes "--" for the value of an option that has none before it.
void refuse_swallowed(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const auto& values = option->results();
    if (option->nonpositional() && std::find(values.begin(), values.end(), "--") != values.end())
      reject(option->get_name(), "needs a value");
  }
}

// The checks that need more than one option.
void complete(Arguments& arguments, const Raw& raw, const Surroundings& surroundings) {
  arguments.bus = choose_bus(raw.bus, raw.system, raw.user, surroundings);
  arguments.legend = !raw.no_legend;
  if (arguments.embedded && arguments.command != Command::run)
    reject("--embedded", "goes with run only");
  complete_run(arguments, raw, surroundings);
  complete_act(arguments, raw);
  complete_policy(arguments);
}

// CLI11 takes it for --fail-on-leak.
void check_leak_status(const Words& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  if (std::find(words.begin(), end, "--fail-on-leak=") != end)
    reject("--fail-on-leak", "\"\" is not an exit status (1 to 255)");
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

Leave usage_error(const CLI::App& app, const CLI::ParseError& error, bool passes_on) {
  const auto rest = app.remaining();
  const bool no_command = app.get_subcommands().empty();
  const std::string problem = no_command && !rest.empty() && !rest.front().starts_with('-')
                                  ? fmt::format("unknown command \"{}\"", rest.front())
                                  : error.what();
  return {passes_on ? kOwnFailure : kUsage,
          fmt::format("corralctl: {}\nTry \"corralctl --help\".\n", problem)};
}

}  // namespace

std::string_view word(Command command) {
  return kWords.at(static_cast<size_t>(command));
}

bool passes_status_on(Command command) {
  return command == Command::run || command == Command::wait || command == Command::lease;
}

std::variant<Arguments, Leave> parse_arguments(const Words& words,
                                               const Surroundings& surroundings) {
  Arguments arguments;
  Raw raw;
  CLI::App app{"Start, watch and end runs of the containment service.", "corralctl"};
  const std::vector<CLI::App*> commands = define(app, arguments, raw);
  const auto passes_on = [&] {
    for (size_t i = 0; i < commands.size(); ++i)
      if (commands[i]->parsed() && passes_status_on(static_cast<Command>(i))) return true;
    return false;
  };
  try {
    const Words all = with_empty_texts(words);
    app.parse(Words(all.rbegin(), all.rend()));  // CLI11 takes them from the back
    if (app.get_subcommands().empty()) throw CLI::RequiredError("a command");
    refuse_swallowed(app);
    refuse_swallowed(*app.get_subcommands().front());
    const auto found = std::find(commands.begin(), commands.end(), app.get_subcommands().front());
    arguments.command = static_cast<Command>(found - commands.begin());
    check_utf8(words, arguments.executes_here());
    if (arguments.command == Command::run) check_leak_status(words);
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
    return usage_error(app, error, passes_on());
  }
  return arguments;
}

}  // namespace corral::cli
