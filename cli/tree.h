#pragma once

#include <string>
#include <vector>

#include "run/process.h"

namespace corral::cli {

// One line a process, children below parents ("├─1234 node server.js"): parentage is by PPID, and a
// process whose parent is not among them stands at the left. Siblings are in the order of their
// start. Past kDeepest levels the indentation grows no further. No newlines; printable.
std::vector<std::string> tree_lines(const std::vector<run::Process>& processes);

inline constexpr size_t kDeepest = 32;

// What a process is called in one line: its command line, else its name in brackets as ps(1) does.
std::string title_of(const run::Process& process);

}  // namespace corral::cli
