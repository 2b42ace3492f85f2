#include "bench/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace corral::bench {
namespace {

// The call of a line "PID  name(arguments…"; "" for a signal, an exit, and the second half of a
// call that was cut in two.
std::string call_of(const std::string& rest) {
  const auto name = rest.substr(0, rest.find('('));
  const bool is_name = !name.empty() && name.size() < rest.size() &&
                       std::ranges::all_of(name, [](unsigned char letter) {
                         return std::isalnum(letter) != 0 || letter == '_';
                       });
  return is_name ? name : "";
}

}  // namespace

std::map<pid_t, std::vector<std::string>> Trace::take() {
  std::ostringstream text;
  text << std::ifstream(path_).rdbuf();
  std::istringstream fresh(text.str().substr(read_));
  read_ = text.str().size();
  std::map<pid_t, std::vector<std::string>> calls;
  for (std::string line; std::getline(fresh, line);) {
    std::istringstream parts(line);
    pid_t pid = 0;
    std::string rest;
    parts >> pid >> std::ws;
    std::getline(parts, rest);
    if (auto call = call_of(rest); !call.empty()) calls[pid].push_back(std::move(call));
  }
  return calls;
}

std::string summary(const std::vector<std::string>& calls) {
  std::map<std::string, size_t> counts;
  for (const auto& call : calls) ++counts[call];
  std::vector<std::pair<std::string, size_t>> rows(counts.begin(), counts.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [name, count] : rows)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

}  // namespace corral::bench
