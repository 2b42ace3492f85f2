#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/decode.h"
#include "cli/exit_status.h"
#include "cli/human.h"
#include "cli/printable.h"
#include "cli/status_text.h"
#include "cli/tree.h"

namespace corral::cli {
namespace {

using Lines = std::vector<std::string>;

// The live runs by their object's path, each with its properties and "Processes"; those nested in
// one are put under its "Runs" as they are shown.
struct Forest {
  std::map<std::string, json> runs;
  std::map<std::string, Lines> nested;  // paths by the path of the run that they are in
  Lines roots;
};

// Where the command lines are somebody else's there are no processes.
void add_processes(Service& service, Forest& forest) {
  std::map<std::string, json*> by_invocation;
  for (auto& [path, run] : forest.runs) by_invocation[run.value("Invocation", "")] = &run;
  const auto rows = service.list_processes({});
  if (!rows) return;
  for (const json& row : *rows) {
    const auto run = by_invocation.find(row.value("Invocation", ""));
    if (run != by_invocation.end()) (*run->second)["Processes"].push_back(row);
  }
}

Called<Forest> load(Service& service) {
  const auto listed = service.list_runs({});
  if (!listed) return tl::unexpected(listed.error());
  Forest forest;
  for (const json& row : *listed) {
    const auto path = row.value("Path", "");
    auto properties = service.properties(path);
    if (!properties) continue;  // it has gone
    (*properties)["Processes"] = json::array();
    forest.runs[path] = std::move(*properties);
  }
  for (const auto& [path, run] : forest.runs) {
    const auto parent = run.value("Parent", "/");
    Lines& siblings = forest.runs.contains(parent) ? forest.nested[parent] : forest.roots;
    siblings.push_back(path);
  }
  add_processes(service, forest);
  return forest;
}

json object_of(const Forest& forest, const std::string& path) {
  json object = forest.runs.at(path);
  object["Path"] = path;
  object["Runs"] = json::array();
  if (const auto nested = forest.nested.find(path); nested != forest.nested.end())
    for (const std::string& run : nested->second) object["Runs"].push_back(object_of(forest, run));
  return object;
}

// A process that stands at the left begins a block: its number, where a branch is drawn elsewhere.
std::vector<Lines> blocks_of(const Lines& lines) {
  std::vector<Lines> blocks;
  for (const std::string& line : lines) {
    const bool root = line[0] >= '0' && line[0] <= '9';
    if (root || blocks.empty()) blocks.emplace_back();
    blocks.back().push_back(line);
  }
  return blocks;
}

std::string head_of(const run::Status& status, uint64_t now) {
  std::string text =
      fmt::format("{} {}", printable(status.report.id), run::word(status.report.state));
  for (const std::string& note : notes_of(status, now)) text += ", " + note;
  if (!status.description.empty()) text += " - " + printable(status.description);
  return text;
}

// The run, and below it its processes and then the runs in it.
Result<Lines> lines_of(const Forest& forest, const std::string& path, uint64_t now) {
  const json& object = forest.runs.at(path);
  const auto status = status_of(object);
  if (!status) return status.error();
  const auto processes = process_rows(object.at("Processes"));
  if (!processes) return processes.error();
  std::vector<Lines> blocks = blocks_of(tree_lines(*processes));
  if (const auto nested = forest.nested.find(path); nested != forest.nested.end())
    for (const std::string& run : nested->second) {
      auto lines = lines_of(forest, run, now);
      if (!lines) return lines.error();
      blocks.push_back(std::move(*lines));
    }
  Lines all{head_of(*status, now)};
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool last = i + 1 == blocks.size();
    for (size_t j = 0; j < blocks[i].size(); ++j)
      all.push_back((j == 0 ? (last ? "└─" : "├─") : (last ? "  " : "│ ")) + blocks[i][j]);
  }
  return all;
}

int print_tree(const Session& session, const Forest& forest, const Lines& roots) {
  const Arguments& arguments = session.arguments;
  const size_t width = session.output.out.width;
  std::string text;
  for (const std::string& root : roots) {
    const auto lines = lines_of(forest, root, base::Moment::now().realtime_usec);
    if (!lines) return fail(arguments, "", lines.error());
    for (const std::string& line : *lines) text += (width == 0 ? line : fitted(line, width)) + "\n";
  }
  if (arguments.legend && roots.empty()) text = "0 runs listed.\n";
  return print(arguments, text);
}

}  // namespace

int show_tree(const Session& session) {
  const Arguments& arguments = session.arguments;
  const auto forest = load(session.service);
  if (!forest) return fail(arguments, "", forest.error());
  Lines roots = forest->roots;
  if (!arguments.names.empty()) {
    const std::string& id = arguments.names.front();
    const auto run = session.service.get_run(id);
    if (!run) return fail(arguments, id, run.error());
    if (!forest->runs.contains(run->path)) return fail(arguments, id, Error{"it has ended", 0});
    roots = {run->path};
  }
  if (!arguments.json) return print_tree(session, *forest, roots);
  json objects = json::array();
  for (const std::string& root : roots) objects.push_back(object_of(*forest, root));
  return print_json(arguments, objects);
}

}  // namespace corral::cli
