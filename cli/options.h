#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"

namespace corral::cli {

using Words = std::vector<std::string>;

// What is asked for once and needs more than one option to be understood.
struct Raw {
  std::optional<std::string> bus;
  bool system = false, user = false, no_legend = false;
  Words settings;
  std::string fail_on_leak;
  bool held = false, all = false;  // end
};

// Refuses the command line: a usage error that names the option.
[[noreturn]] void reject(const std::string& option, const std::string& problem);

// An option whose text becomes a value through `parse`; nullopt is refused as "not <what>".
template <typename T, typename Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& flags, T& target, Parse parse,
                        const std::string& what, const std::string& help) {
  return app
      .add_option_function<std::string>(
          flags,
          [&target, parse, what, flags](const std::string& text) {
            auto value = parse(text);
            if (!value) reject(flags, fmt::format("\"{}\" is not {}", text, what));
            target = *value;
          },
          help)
      ->type_name("");
}

// `most` is the service's bound, whose message would name an option of D-Bus, and microseconds;
// kNoLimit where it has none.
void add_span(CLI::App& app, const std::string& flags, std::optional<microseconds>& target,
              microseconds most, const std::string& help);
// A span that is not empty, or "infinity" for kNoLimit.
void add_limit(CLI::App& app, const std::string& flags, std::optional<microseconds>& target,
               const std::string& help);
void add_text(CLI::App& app, const std::string& flags, std::optional<std::string>& target,
              const std::string& help);
// One of the words.
void add_choice(CLI::App& app, const std::string& flags, std::optional<std::string>& target,
                const Words& choices, const std::string& help);
void add_id(CLI::App& app, const std::string& flags, std::string& target, const std::string& help);
void add_invocation(CLI::App& app, Arguments& arguments);
void add_label(CLI::App& app, std::map<std::string, std::string>& labels);
void add_pids(CLI::App& app, Arguments& arguments);
// A command that takes an ID, or several of them.
CLI::App& add_named(CLI::App& app, const char* name, const char* help, const char* operand,
                    Arguments& arguments, bool several);

// Each adds the commands of its kind to `app`; what they are told ends up in `arguments` and
// `raw`.
void define_runs(CLI::App& app, Arguments& arguments, Raw& raw);  // run, adopt
void define_queries(CLI::App& app, Arguments& arguments);         // list to config
void define_acts(CLI::App& app, Arguments& arguments, Raw& raw);  // end to forget
void define_policies(CLI::App& app, Arguments& arguments);        // freeze to enforcement

// Whether the options that were given go together; completes what depends on others. Each deals
// with the commands of its kind and passes over the others.
void complete_run(Arguments& arguments, const Raw& raw, const Surroundings& surroundings);
void complete_act(Arguments& arguments, const Raw& raw);
void complete_policy(Arguments& arguments);

// D-Bus strings are UTF-8 without exception; `words` up to "--" where what follows is executed
// here.
void check_utf8(const Words& words, bool executes_here = false);

}  // namespace corral::cli
