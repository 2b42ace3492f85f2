#include "cli/status_text.h"

#include <fmt/format.h>

#include "base/span.h"
#include "cli/human.h"
#include "cli/printable.h"
#include "cli/report_text.h"
#include "cli/tree.h"
#include "run/words.h"

namespace corral::cli {
namespace {

constexpr size_t kLabelColumns = 12;

std::string ago(uint64_t then, uint64_t now) {
  if (then == 0 || then > now) return "";
  return fmt::format("; {} ago", span_text(microseconds{now - then}));
}

class Lines {
 public:
  explicit Lines(const Format& format) : format_(format) {}

  // "      Owner: rhiza (uid 0)"; nothing where there is no value.
  void add(std::string_view label, const std::string& value) {
    if (value.empty()) return;
    raw(fmt::format("{:>{}}: {}", label, kLabelColumns, value));
  }
  void raw(const std::string& line) {
    text_ += (format_.width == 0 ? line : fitted(line, format_.width)) + "\n";
  }
  // A line with one styled word in it, which is put in after the cut.
  void headed(std::string_view before, std::string_view word, Style style, std::string_view after) {
    const std::string line = fmt::format("{}{}{}", before, word, after);
    const bool whole = format_.width == 0 || columns(line) <= format_.width;
    if (!format_.colour || !whole) return raw(line);
    text_ += fmt::format("{}{}{}\n", before, styled(word, style), after);
  }
  std::string take() { return std::move(text_); }

 private:
  const Format& format_;
  std::string text_;
};

std::string state_since(const run::Report& report, uint64_t now) {
  const uint64_t then = report.state == run::State::ended ? report.end.realtime_usec
                        : report.driver_exited.realtime_usec != 0
                            ? report.driver_exited.realtime_usec
                            : report.start.realtime_usec;
  return then == 0 ? "" : fmt::format(" since {}{}", time_text(then), ago(then, now));
}

std::string driver_line(const run::Status& status) {
  const std::string text = driver_text(status.report).substr(std::string_view("driver ").size());
  if (status.report.driver_exit == run::DriverExit::unknown) return "its exit was not seen";
  return status.driver_pid == 0 ? text : fmt::format("{} ({})", status.driver_pid, text);
}

std::string labels_text(const run::Status& status) {
  std::string text;
  for (const auto& [key, value] : status.labels)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", printable(key), printable(value));
  return text;
}

std::string ended_text(const run::Report& report) {
  std::string text(run::word(report.end_reason));
  if (!report.ended_by.empty()) text += " by " + printable(report.ended_by);
  if (!report.end_message.empty()) text += fmt::format(": {}", printable(report.end_message));
  return text;
}

std::string memory_text(const std::vector<run::Process>& processes) {
  uint64_t sum = 0;
  for (const run::Process& process : processes) sum += process.rss.value_or(0);
  return sum == 0 ? "" : bytes_text(sum) + " resident";
}

std::string leaks_text(const run::Report& report) {
  if (report.leaks_found == 0) return "";
  std::string text = std::to_string(report.leaks_found);
  if (report.stuck > 0) text += fmt::format(", {} stuck", report.stuck);
  return text;
}

// What differs from killing whatever is left when the driver exits.
std::string policy_text(const run::Policy& policy) {
  std::vector<std::string> parts;
  if (policy.on_driver_exit != run::OnDriverExit::kill)
    parts.push_back(fmt::format("{} leaks", run::word(policy.on_driver_exit)));
  if (policy.hold_max)
    parts.push_back("held for " + base::exact_span(*policy.hold_max) + " at most");
  if (policy.runtime_max) parts.push_back("ends after " + base::exact_span(*policy.runtime_max));
  if (policy.lease) parts.push_back("lease renewed within " + base::exact_span(*policy.lease));
  for (const std::string& glob : policy.keep) parts.push_back("keeps " + printable(glob));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::vector<std::string> notes_of(const run::Status& status, uint64_t now) {
  const run::Report& report = status.report;
  std::vector<std::string> notes;
  if (report.kind == run::Kind::kept) notes.emplace_back("kept");
  if (report.state == run::State::ended) return notes;
  if (status.frozen) notes.emplace_back("frozen");
  if (report.enforcement == run::Enforcement::observe) notes.emplace_back("observe");
  const auto& most = status.policy.runtime_max;
  if (!most || report.start.realtime_usec == 0 || report.state != run::State::running) return notes;
  const uint64_t due = report.start.realtime_usec + static_cast<uint64_t>(most->count());
  notes.push_back(span_text(microseconds{due > now ? due - now : 0}) + " to its deadline");
  return notes;
}

Style style_of(run::State state, run::RunResult result) {
  if (state == run::State::ending || state == run::State::holding) return Style::warning;
  if (state != run::State::ended) return Style::good;
  const bool fine = result == run::RunResult::success || result == run::RunResult::none;
  return fine ? Style::plain : Style::bad;
}

std::string status_text(const run::Status& status, const std::vector<run::Process>& processes,
                        uint64_t now, const Format& format) {
  const run::Report& report = status.report;
  const Style style = style_of(report.state, report.result);
  const std::string description =
      status.description.empty() ? "" : " - " + printable(status.description);
  const std::string result =
      report.result == run::RunResult::none ? "" : fmt::format(" ({})", run::word(report.result));

  Lines lines(format);
  lines.headed("", "●", style, " " + printable(report.id) + description);
  lines.add("Invocation", report.invocation);
  lines.headed(fmt::format("{:>{}}: ", "State", kLabelColumns), run::word(report.state), style,
               result + state_since(report, now));
  lines.add("Notes", fmt::format("{}", fmt::join(notes_of(status, now), ", ")));
  lines.add("Owner",
            fmt::format("{}uid {}", report.owner.empty() ? "" : printable(report.owner) + ", ",
                        report.owner_uid));
  lines.add("Labels", labels_text(status));
  lines.add("Driver", driver_line(status));
  if (report.end_reason != run::EndReason::none) lines.add("Ended", ended_text(report));
  lines.add("Leaks", leaks_text(report));
  lines.add("Policy", policy_text(status.policy));
  lines.add("Leases", printable(fmt::format("{}", fmt::join(status.leases, "; "))));
  lines.add("Containment", std::string(run::word(report.containment)));
  lines.add("CGroup", printable(status.control_group));
  if (report.state != run::State::ended) lines.add("Processes", std::to_string(processes.size()));
  lines.add("Memory", memory_text(processes));
  for (const std::string& line : tree_lines(processes))
    lines.raw(std::string(kLabelColumns + 2, ' ') + line);
  return lines.take();
}

}  // namespace corral::cli
