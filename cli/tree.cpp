#include "cli/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "cli/printable.h"
#include "run/words.h"

namespace corral::cli {
namespace {

using Children = std::unordered_map<uint32_t, std::vector<const run::Process*>>;

struct Visit {
  const run::Process* process;
  std::string indent;  // of the lines below it
  size_t depth;
  bool last;  // of its siblings
};

// A strict order: a parent starts before its child, or in the same tick with a lower pid.
bool earlier(const run::Process* a, const run::Process* b) {
  return std::tie(a->start_timestamp, a->pid) < std::tie(b->start_timestamp, b->pid);
}

std::string line_of(const run::Process& process) {
  std::string line = fmt::format("{} {}", process.pid, title_of(process));
  if (process.detached != run::Detached::no)
    line += fmt::format("  ({})", run::word(process.detached));
  for (const std::string& socket : process.listening) line += "  " + printable(socket);
  return line;
}

void push_children(const Visit& parent, const Children& children, std::vector<Visit>& stack) {
  const auto found = children.find(parent.process->pid);
  if (found == children.end()) return;
  const bool deep = parent.depth >= kDeepest;
  const std::string indent =
      parent.depth == 0 || deep ? parent.indent : parent.indent + (parent.last ? "  " : "│ ");
  for (size_t i = found->second.size(); i-- > 0;)
    stack.push_back({found->second[i], indent, parent.depth + 1, i + 1 == found->second.size()});
}

}  // namespace

std::string title_of(const run::Process& process) {
  if (process.argv.empty()) return fmt::format("[{}]", printable(process.comm));
  return command_text(process.argv) + (process.argv_truncated ? " …" : "");
}

std::vector<std::string> tree_lines(const std::vector<run::Process>& processes) {
  std::vector<const run::Process*> ordered;
  std::unordered_map<uint32_t, const run::Process*> by_pid;
  for (const run::Process& process : processes) {
    ordered.push_back(&process);
    by_pid[process.pid] = &process;
  }
  std::sort(ordered.begin(), ordered.end(), earlier);

  Children children;
  std::vector<Visit> stack;  // its last is next
  // A parent that started later is a pid come again; two of them would make a loop.
  for (const run::Process* process : ordered) {
    const auto parent = by_pid.find(process->ppid);
    const bool below = parent != by_pid.end() && earlier(parent->second, process);
    if (below)
      children[process->ppid].push_back(process);
    else
      stack.push_back({process, "", 0, true});
  }
  std::reverse(stack.begin(), stack.end());

  std::vector<std::string> lines;
  while (!stack.empty()) {
    const Visit visit = std::move(stack.back());
    stack.pop_back();
    const char* branch = visit.depth == 0 ? "" : visit.last ? "└─" : "├─";
    lines.push_back(visit.indent + branch + line_of(*visit.process));
    push_children(visit, children, stack);
  }
  return lines;
}

}  // namespace corral::cli
