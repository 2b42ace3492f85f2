#include "dbus/requests.h"

#include <fmt/format.h>

#include <csignal>
#include <utility>

#include "dbus/policy_request.h"
#include "run/words.h"

namespace corral::dbus {
namespace {

using run::FaultKind;

constexpr size_t kInvocationBytes = 32;

std::optional<run::Invocation> read_invocation(Options& options) {
  const auto text = options.text("Invocation", kInvocationBytes);
  if (!text) return std::nullopt;
  auto invocation = run::Invocation::parse(*text);
  if (!invocation) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("Invocation {} is not 32 lower-case hex digits", quoted(*text)));
  }
  return invocation;
}

// KEY, or KEY=VALUE.
std::optional<std::pair<std::string, std::optional<std::string>>> read_label(Options& options) {
  const auto text = options.text("Label", run::kLabelKeyBytes + 1 + run::kLabelValueBytes);
  if (!text) return std::nullopt;
  const size_t equals = text->find('=');
  if (equals == 0 || text->empty()) {
    options.refuse(FaultKind::invalid_args, "Label must be KEY or KEY=VALUE");
    return std::nullopt;
  }
  if (equals == std::string::npos) return std::pair{*text, std::optional<std::string>{}};
  return std::pair{text->substr(0, equals), std::optional{text->substr(equals + 1)}};
}

Until read_until(Options& options) {
  const auto text = options.text("Until", kWordBytes);
  if (!text || *text == "settled") return Until::settled;
  if (*text == "driver") return Until::driver;
  if (*text != "ended") {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("Until is {}, expected driver, settled or ended", quoted(*text)));
  }
  return Until::ended;
}

Whom read_whom(Options& options, const std::string& text) {
  if (text != "driver" && text != "all") {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("whom is {}, expected driver or all", quoted(text)));
  }
  return text == "all" ? Whom::all : Whom::driver;
}

void read_end(Options& options, EndOptions& end) {
  end.grace = options.duration("GraceUSec", kLongestGrace);
  end.reason = options.text("Reason", kReasonBytes).value_or("");
}

std::optional<run::State> read_state(Options& options) {
  const auto text = options.text("State", kWordBytes);
  if (!text) return std::nullopt;
  auto state = run::parse_word<run::State>(*text);
  if (!state) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("State is {}, expected starting, running, ending, holding or ended",
                               quoted(*text)));
  }
  return state;
}

RunFilter read_filter(Options& options) {
  RunFilter filter;
  filter.owner = options.text("Owner", run::kOwnerBytes);
  filter.state = read_state(options);
  filter.label = read_label(options);
  filter.parent = read_parent(options);
  return filter;
}

}  // namespace

std::optional<std::string> read_parent(Options& options) {
  auto parent = options.text("Parent", kPathBytes);
  if (parent && !parent->empty() && !run::RunId::parse(*parent)) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("Parent {} is neither an id nor empty", quoted(*parent)));
  }
  return parent;
}

std::optional<run::RunId> read_id(Options& options, const std::string& id) {
  auto parsed = run::RunId::parse(id);
  if (!parsed) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("id {} is not {}", quoted(id), run::RunId::kRule));
  }
  return parsed;
}

bool is_signal(int64_t number) {
  return (number >= 1 && number <= 31) || (number >= SIGRTMIN && number <= SIGRTMAX);
}

run::Answer<EndRequest> end_request(const std::string& id, Dict dict) {
  Options options("EndRun", std::move(dict));
  auto run = read_id(options, id);
  auto invocation = read_invocation(options);
  EndOptions end;
  read_end(options, end);
  end.no_block = options.flag("NoBlock").value_or(false);
  end.allow_self = options.flag("AllowSelf").value_or(false);
  if (end.grace && *end.grace > kLongestEndGrace && !end.no_block)
    options.refuse(FaultKind::invalid_args,
                   fmt::format("GraceUSec must be 0 to {} where the call waits for the end; set "
                               "NoBlock for a longer one",
                               microseconds{kLongestEndGrace}.count()));
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return EndRequest{{std::move(*run), std::move(invocation)}, std::move(end)};
}

run::Answer<WaitRequest> wait_request(const std::string& id, Dict dict) {
  Options options("WaitRun", std::move(dict));
  auto run = read_id(options, id);
  auto invocation = read_invocation(options);
  WaitOptions wait;
  wait.until = read_until(options);
  wait.timeout = options.duration("TimeoutUSec", kLongestWait).value_or(wait.timeout);
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return WaitRequest{{std::move(*run), std::move(invocation)}, wait};
}

run::Answer<SignalRequest> signal_request(const std::string& id, const std::string& whom,
                                          int32_t signal, Dict dict) {
  Options options("SignalRun", std::move(dict));
  auto run = read_id(options, id);
  auto invocation = read_invocation(options);
  const Whom target = read_whom(options, whom);
  if (!is_signal(signal)) {
    options.refuse(
        FaultKind::invalid_args,
        fmt::format("signal is {}, expected 1 to 31 or {} to {}", signal, SIGRTMIN, SIGRTMAX));
  }
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return SignalRequest{{std::move(*run), std::move(invocation)}, target, signal};
}

run::Answer<RunRef> ref_request(const char* call, const std::string& id, Dict dict) {
  Options options(call, std::move(dict));
  auto run = read_id(options, id);
  auto invocation = read_invocation(options);
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return RunRef{std::move(*run), std::move(invocation)};
}

run::Answer<RunFilter> run_filter(Dict dict) {
  Options options("ListRuns", std::move(dict));
  RunFilter filter = read_filter(options);
  filter.all = options.flag("All").value_or(false) || filter.state == run::State::ended;
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return filter;
}

run::Answer<EndRunsOptions> end_runs_request(Dict dict) {
  Options options("EndRuns", std::move(dict));
  EndRunsOptions request;
  request.filter = read_filter(options);
  request.older_than = options.duration("OlderThanUSec", microseconds::max());
  request.dry_run = options.flag("DryRun").value_or(false);
  read_end(options, request.end);
  if (request.end.grace && *request.end.grace > kLongestEndGrace)
    options.refuse(FaultKind::invalid_args, fmt::format("GraceUSec must be 0 to {}",
                                                        microseconds{kLongestEndGrace}.count()));
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return request;
}

run::Answer<SetRequest> set_request(const std::string& id, Dict dict) {
  Options options("SetRun", std::move(dict));
  auto run = read_id(options, id);
  auto invocation = read_invocation(options);
  SetOptions set;
  set.owner = options.text("Owner", run::kOwnerBytes);
  set.description = options.text("Description", run::kDescriptionBytes);
  if (auto labels = read_labels(options)) set.labels = std::move(*labels);
  if (const auto span = read_span(options, "RuntimeMaxUSec")) set.runtime_max = span->value;
  set.enforcement = read_enforcement(options);
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return SetRequest{{std::move(*run), std::move(invocation)}, std::move(set)};
}

run::Answer<RunRef> lease_request(const std::string& id, const std::string& who,
                                  const std::string& why) {
  Options options("AcquireLease", {});
  auto run = read_id(options, id);
  for (const auto& [name, text] : {std::pair{"who", &who}, std::pair{"why", &why}}) {
    if (text->size() > run::kOwnerBytes)
      options.refuse(FaultKind::limit_exceeded,
                     fmt::format("{} has {} bytes, at most {} are allowed", name, text->size(),
                                 run::kOwnerBytes));
  }
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return RunRef{std::move(*run), std::nullopt};
}

run::Answer<run::Enforcement> enforcement_request(const std::string& text) {
  if (const auto word = run::parse_word<run::Enforcement>(text)) return *word;
  return run::fault(FaultKind::invalid_args,
                    fmt::format("SetEnforcement: {} is neither enforce nor observe", quoted(text)));
}

run::Answer<ProcessFilter> process_filter(const char* call, Dict dict) {
  Options options(call, std::move(dict));
  ProcessFilter filter;
  if (const auto id = options.text("Run", kPathBytes)) filter.run = read_id(options, *id);
  filter.invocation = read_invocation(options);
  filter.owner = options.text("Owner", run::kOwnerBytes);
  filter.label = read_label(options);
  if (const auto pid = options.integer("PID", 1, INT32_MAX)) {
    filter.pid = static_cast<uint32_t>(*pid);
  }
  if (const auto port = options.integer("Port", 1, UINT16_MAX)) {
    filter.port = static_cast<uint16_t>(*port);
  }
  filter.offset = static_cast<uint64_t>(options.integer("Offset", 0, INT64_MAX).value_or(0));
  filter.limit =
      static_cast<uint64_t>(options.integer("Limit", 1, kRowsPerCall).value_or(kRowsPerCall));
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return filter;
}

}  // namespace corral::dbus
