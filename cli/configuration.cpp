#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace corral::cli {

int show_configuration(const Session& session) {
  const Arguments& arguments = session.arguments;
  const auto settings = session.service.get_configuration();
  if (!settings) return fail(arguments, "", settings.error());
  if (arguments.json) return print_json(arguments, *settings);
  Table table({{"KEY"}, {"VALUE"}, {"SOURCE", false, true}});
  for (const json& setting : *settings) {
    const auto source = setting.at("Source").get<std::string>();
    table.add({{setting.at("Key").get<std::string>()},
               {setting.at("Value").get<std::string>()},
               {source, source == "default" ? Style::faint : Style::plain}});
  }
  return print(arguments, table.text(session.output.out, arguments.legend));
}

}  // namespace corral::cli
