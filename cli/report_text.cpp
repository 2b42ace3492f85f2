#include "cli/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/human.h"
#include "cli/printable.h"
#include "cli/tree.h"
#include "run/words.h"

namespace corral::cli {
namespace {

constexpr size_t kCommandColumns = 48;  // the whole of it is in --json and `corralctl leaks`

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string why_text(const run::Report& report) {
  switch (report.end_reason) {
    case run::EndReason::requested: {
      std::string text = "on request";
      if (!report.ended_by.empty()) text += " of " + printable(report.ended_by);
      if (!report.end_message.empty())
        text += fmt::format(" (\"{}\")", printable(report.end_message));
      return text;
    }
    case run::EndReason::deadline:
      return "at its deadline";
    case run::EndReason::lease_lost:
      return fmt::format("because {} (lease-lost)", report.end_message.empty()
                                                        ? "its lease was lost"
                                                        : printable(report.end_message));
    case run::EndReason::parent_ended:
      return "with the run that it was nested in (parent-ended)";
    case run::EndReason::reboot:
      return "with a reboot";
    case run::EndReason::lost:
      return "when its cgroup vanished";
    default:
      return "";
  }
}

std::string state_text(const run::Report& report) {
  if (report.state != run::State::ended) return fmt::format("is {}", run::word(report.state));
  const std::string why = why_text(report);
  return why.empty() ? "ended" : "ended " + why;
}

std::string outlived_text(const run::Report& report) {
  if (report.result == run::RunResult::start_failed) return "";
  const bool natural = report.end_reason == run::EndReason::driver_exited;
  const uint64_t others = report.leaks_found - std::min(report.leaks_found, report.escaped);
  if (report.leaks_found == 0)
    return natural && report.state == run::State::ended ? "; nothing had outlived it" : "";
  if (others == 0) return "";  // who escaped is told further down
  if (!natural)
    return fmt::format("; {} went with it", count_text(others, "other process", "other processes"));
  return fmt::format("; {} had outlived it", count_text(others, "process", "processes"));
}

Style style_of(run::Outcome outcome) {
  switch (outcome) {
    case run::Outcome::kill:
      return Style::warning;
    case run::Outcome::stuck:
    case run::Outcome::escaped:
      return Style::bad;
    default:
      return Style::plain;
  }
}

std::string amount(const std::optional<uint64_t>& bytes) {
  return bytes ? bytes_text(*bytes) : "";
}

std::string span(const std::optional<uint64_t>& usec) {
  return usec ? span_text(microseconds{*usec}) : "";
}

std::string leak_table(const run::Report& report, const Format& format, bool legend) {
  Table table({{"PID", true, false},
               {"COMMAND", false, true},
               {"AGE", true, false},
               {"MEMORY", true, false},
               {"DETACHED", false, false},
               {"LISTENING", false, true},
               {"OUTCOME", false, false}});
  for (const run::Process& leak : report.leaks) {
    std::string outcome(run::word(leak.outcome));
    if (!leak.rule.empty()) outcome += fmt::format(" ({})", leak.rule);
    table.add({{std::to_string(leak.pid)},
               {fitted(title_of(leak), kCommandColumns)},
               {span(leak.age_usec)},
               {amount(leak.rss)},
               {std::string(run::word(leak.detached))},
               {joined(leak.listening, " ")},
               {std::move(outcome), style_of(leak.outcome)}});
  }
  std::string text = table.text(format, legend);
  if (report.leaks_omitted > 0) text += fmt::format("… and {} more\n", report.leaks_omitted);
  return text;
}

// "4 went after SIGTERM, 2 were killed"
std::vector<std::string> outcome_parts(const run::Report& report) {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, const char* one, const char* many) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, count == 1 ? one : many));
  };
  add(report.terminated, "went after SIGTERM", "went after SIGTERM");
  add(report.killed, "was killed", "were killed");
  add(report.kept, "is kept in a run of its own", "are kept in a run of their own");
  add(report.escaped, "had moved out of the run and is not contained",
      "had moved out of the run and are not contained");
  add(report.stuck, "was killed and is still there", "were killed and are still there");
  return parts;
}

std::string outcome_line(const run::Report& report) {
  std::vector<std::string> parts;
  if (const auto counts = outcome_parts(report); !counts.empty())
    parts.push_back(joined(counts, ", "));
  const bool proven = report.end_reason != run::EndReason::reboot &&
                      report.end_reason != run::EndReason::lost && report.stuck == 0;
  if (report.state == run::State::ended && proven) {
    const std::string time = span(report.time_to_empty_usec);
    const std::string where = report.escaped + report.kept > 0 ? " in the run" : "";
    parts.push_back("nothing is left" + where +
                    (time.empty() ? "" : fmt::format(" (proven in {})", time)));
  }
  if (parts.empty()) return "";
  std::string line = joined(parts, "; ") + ".\n";
  line[0] = static_cast<char>(line[0] == 'n' ? 'N' : line[0]);
  return line;
}

std::string usage_line(const run::Report& report) {
  std::vector<std::string> parts;
  if (report.cpu_usec) parts.push_back("CPU " + span(report.cpu_usec));
  if (report.memory_peak) parts.push_back("memory peak " + amount(report.memory_peak));
  if (report.peak_descendants)
    parts.push_back(count_text(*report.peak_descendants, "task", "tasks") + " at the peak");
  if (report.oom_kills.value_or(0) > 0)
    parts.push_back(count_text(*report.oom_kills, "out-of-memory kill", "out-of-memory kills"));
  return parts.empty() ? "" : "Used " + joined(parts, ", ") + ".\n";
}

}  // namespace

std::string driver_text(const run::Report& report) {
  const std::string after =
      report.wall_usec ? fmt::format(" after {}", span(report.wall_usec)) : std::string();
  if (report.result == run::RunResult::start_failed)
    return "driver did not start: " + printable(report.end_message);
  switch (report.driver_exit) {
    case run::DriverExit::none:
      return "driver runs";
    case run::DriverExit::exited:
      return fmt::format("driver exited with {}{}", report.driver_status, after);
    case run::DriverExit::killed:
      return fmt::format("driver was killed by {}{}", signal_text(report.driver_status), after);
    case run::DriverExit::dumped:
      return fmt::format("driver dumped core on {}{}", signal_text(report.driver_status), after);
    case run::DriverExit::unknown:
      break;
  }
  return report.unknown_reason.empty()
             ? "driver's exit was not seen"
             : fmt::format("driver's exit was not seen ({})", printable(report.unknown_reason));
}

std::string report_text(const run::Report& report, const Format& format, bool legend) {
  std::string text =
      fmt::format("Run {} ({}) {}: {}{}.\n", printable(report.id), fitted(report.invocation, 9),
                  state_text(report), driver_text(report), outlived_text(report));
  if (!report.leaks.empty()) text += leak_table(report, format, legend);
  return text + outcome_line(report) + usage_line(report);
}

}  // namespace corral::cli
