#include "cli/options.h"

#include <algorithm>

#include "base/escape.h"
#include "base/parse.h"
#include "cli/human.h"
#include "run/id.h"

namespace corral::cli {

void reject(const std::string& option, const std::string& problem) {
  throw CLI::ValidationError(option, problem);
}

void add_span(CLI::App& app, const std::string& flags, std::optional<microseconds>& target,
              microseconds most, const std::string& help) {
  const auto parse = [most](const std::string& text) {
    const auto span = parse_span(text);
    return span && *span <= most ? span : std::nullopt;
  };
  const std::string bound =
      most == kNoLimit ? "" : fmt::format(", of at most {}", base::exact_span(most));
  add_parsed(app, flags, target, parse, "a time span such as 200ms, 5s or 1min" + bound, help);
}

void add_limit(CLI::App& app, const std::string& flags, std::optional<microseconds>& target,
               const std::string& help) {
  const auto parse = [](const std::string& text) {
    const auto span = text == "infinity" ? std::optional(kNoLimit) : parse_span(text);
    return span && span->count() > 0 ? span : std::nullopt;
  };
  add_parsed(app, flags, target, parse, "a time span such as 200ms, 5s or 1min, or infinity", help);
}

void add_text(CLI::App& app, const std::string& flags, std::optional<std::string>& target,
              const std::string& help) {
  app.add_option(flags, target, help)->type_name("");
}

void add_choice(CLI::App& app, const std::string& flags, std::optional<std::string>& target,
                const Words& choices, const std::string& help) {
  const auto parse = [choices](const std::string& text) {
    const bool known = std::find(choices.begin(), choices.end(), text) != choices.end();
    return known ? std::optional(text) : std::nullopt;
  };
  const auto head = Words(choices.begin(), choices.end() - 1);
  const auto what = fmt::format("{} or {}", fmt::join(head, ", "), choices.back());
  add_parsed(app, flags, target, parse, what, fmt::format("{}: {}", help, what));
}

void add_id(CLI::App& app, const std::string& flags, std::string& target, const std::string& help) {
  const auto parse = [](const std::string& text) {
    return run::RunId::parse(text) ? std::optional(text) : std::nullopt;
  };
  add_parsed(app, flags, target, parse, fmt::format("an id ({})", run::RunId::kRule), help);
}

void add_invocation(CLI::App& app, Arguments& arguments) {
  const auto parse = [](const std::string& text) -> std::optional<std::string> {
    return run::Invocation::parse(text) ? std::optional(text) : std::nullopt;
  };
  add_parsed(app, "--invocation", arguments.invocation, parse, "an invocation (32 hex digits)",
             "Only this invocation of the run");
}

void add_label(CLI::App& app, std::map<std::string, std::string>& labels) {
  const auto add = [&labels](const std::string& text) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      reject("--label", fmt::format("\"{}\" is not KEY=VALUE", text));
    labels[text.substr(0, equals)] = text.substr(equals + 1);
  };
  app.add_option_function<Words>(
         "--label", [add](const Words& texts) { std::for_each(texts.begin(), texts.end(), add); },
         "Label of the run, KEY=VALUE; may be given again")
      ->allow_extra_args(false)
      ->type_name("");
}

void add_pids(CLI::App& app, Arguments& arguments) {
  const auto add = [&arguments](const Words& texts) {
    for (const std::string& text : texts) {
      const auto pid = base::number<uint32_t>(text);
      if (!pid || *pid == 0) reject("PID", fmt::format("\"{}\" is not a process id", text));
      arguments.pids.push_back(*pid);
    }
  };
  app.add_option_function<Words>("PID", add, "Processes")->required()->type_name("");
}

CLI::App& add_named(CLI::App& app, const char* name, const char* help, const char* operand,
                    Arguments& arguments, bool several) {
  CLI::App& command = *app.add_subcommand(name, help);
  CLI::Option* names = command.add_option(operand, arguments.names, "")->required()->type_name("");
  if (!several) names->expected(1)->allow_extra_args(false);
  return command;
}

// D-Bus strings are UTF-8 without exception. A command that is executed here, after "--", is none.
void check_utf8(const Words& words, bool executes_here) {
  const auto end = executes_here ? std::find(words.begin(), words.end(), "--") : words.end();
  for (const std::string& word : Words(words.begin(), end))
    if (!base::is_utf8(word))
      reject(fmt::format("\"{}\"", base::escape(word)), "not UTF-8, which the bus cannot carry");
}

}  // namespace corral::cli
