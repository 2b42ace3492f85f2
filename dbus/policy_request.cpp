#include "dbus/policy_request.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "dbus/requests.h"
#include "run/spec.h"
#include "run/words.h"

namespace corral::dbus {
namespace {

using run::FaultKind;
using run::OnDriverExit;
using std::chrono::microseconds;

OnDriverExit read_on_driver_exit(Options& options, OnDriverExit fallback) {
  const auto text = options.text("OnDriverExit", kWordBytes);
  if (!text) return fallback;
  const auto word = run::parse_word<OnDriverExit>(*text);
  if (!word)
    options.refuse(
        FaultKind::invalid_args,
        fmt::format("OnDriverExit is {}, expected kill, freeze or report", quoted(*text)));
  return word.value_or(fallback);
}

int read_term_signal(Options& options, int fallback) {
  const auto number = options.integer("TermSignal", INT32_MIN, INT32_MAX);
  if (!number) return fallback;
  if (!is_signal(*number))
    options.refuse(
        FaultKind::invalid_args,
        fmt::format("TermSignal is {}, expected 1 to 31 or {} to {}", *number, SIGRTMIN, SIGRTMAX));
  return static_cast<int>(*number);
}

// They stand in the record, which has to fit into one attribute.
std::vector<std::string> read_keep(Options& options) {
  auto globs = options.texts("Keep");
  if (!globs) return {};
  if (globs->size() > run::kKeepGlobs)
    options.refuse(
        FaultKind::limit_exceeded,
        fmt::format("Keep has {} entries, at most {} are allowed", globs->size(), run::kKeepGlobs));
  for (const auto& glob : *globs) {
    if (glob.size() > run::kKeepBytes)
      options.refuse(FaultKind::limit_exceeded,
                     fmt::format("Keep: {} has {} bytes, at most {} are allowed", quoted(glob),
                                 glob.size(), run::kKeepBytes));
    if (!glob.starts_with('/') && !glob.starts_with('*'))
      options.refuse(FaultKind::invalid_args,
                     fmt::format("Keep: {} matches no path of an executable, which begins with /; "
                                 "write */NAME or an absolute path",
                                 quoted(glob)));
  }
  return std::move(*globs);
}

void refuse_contradictions(Options& options, const run::Policy& policy, bool asked_to_hold) {
  if (!policy.keep.empty() && policy.on_driver_exit == OnDriverExit::report)
    options.refuse(FaultKind::invalid_args,
                   "Keep says what an end is to spare, and OnDriverExit report spares everything; "
                   "leave one of them out");
  if (asked_to_hold && policy.on_driver_exit == OnDriverExit::kill)
    options.refuse(FaultKind::invalid_args,
                   "HoldMaxUSec bounds how long leaks are held, and OnDriverExit kill holds none; "
                   "leave one of them out");
}

}  // namespace

std::optional<Span> read_span(Options& options, const char* key) {
  const auto number = options.integer(key, 1, INT64_MAX);
  if (!number) return std::nullopt;
  if (*number == INT64_MAX) return Span{};
  return Span{microseconds{*number}};
}

std::optional<run::Enforcement> read_enforcement(Options& options) {
  const auto text = options.text("Enforcement", kWordBytes);
  if (!text) return std::nullopt;
  const auto word = run::parse_word<run::Enforcement>(*text);
  if (!word)
    options.refuse(FaultKind::invalid_args,
                   fmt::format("Enforcement is {}, expected enforce or observe", quoted(*text)));
  return word;
}

run::Policy read_policy(Options& options, const run::Policy& defaults) {
  run::Policy policy = defaults;
  policy.on_driver_exit = read_on_driver_exit(options, policy.on_driver_exit);
  policy.settle = options.duration("SettleUSec", kLongestSettle).value_or(policy.settle);
  policy.grace = options.duration("GraceUSec", kLongestGrace).value_or(policy.grace);
  policy.term_signal = read_term_signal(options, policy.term_signal);
  policy.runtime_max =
      read_span(options, "RuntimeMaxUSec").value_or(Span{policy.runtime_max}).value;
  const auto hold_max = read_span(options, "HoldMaxUSec");
  policy.hold_max = hold_max.value_or(Span{policy.hold_max}).value;
  policy.lease = read_span(options, "LeaseUSec").value_or(Span{policy.lease}).value;
  policy.enforcement = read_enforcement(options).value_or(policy.enforcement);
  policy.keep = read_keep(options);
  refuse_contradictions(options, policy, hold_max && hold_max->value);
  return policy;
}

}  // namespace corral::dbus
