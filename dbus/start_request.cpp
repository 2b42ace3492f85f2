#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dbus/policy_request.h"
#include "dbus/requests.h"
#include "run/words.h"

namespace corral::dbus {
namespace {

using run::FaultKind;
using run::RunId;
using run::Spec;
using run::Stream;

// A byte of them takes six in the record, and all of it has to fit into one attribute.
bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string read_working_directory(Options& options) {
  auto path = options.text("WorkingDirectory", kPathBytes);
  if (!path) return "/";
  if (!path->starts_with('/')) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("WorkingDirectory {} is not absolute", quoted(*path)));
  }
  return std::move(*path);
}

std::vector<std::string> read_environment(Options& options) {
  auto entries = options.texts("Environment");
  if (!entries) return {};
  for (const auto& entry : *entries) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      options.refuse(FaultKind::invalid_args,
                     fmt::format("Environment: {} is not NAME=value", quoted(entry)));
    }
  }
  return std::move(*entries);
}

enum class Direction { in, out };

void parse_stream(Options& options, const char* key, Direction direction, const std::string& text,
                  Stream& stream) {
  if (text == "null") return;
  if (text == "journal") {
    options.refuse(
        FaultKind::not_supported,
        fmt::format("{} journal is not supported; use append:PATH, truncate:PATH or an fd", key));
    return;
  }
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (colon == std::string::npos || (kind != "append" && kind != "truncate")) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("{} is {}, expected null, {}or an fd", key, quoted(text),
                               direction == Direction::out ? "append:PATH, truncate:PATH " : ""));
    return;
  }
  stream.kind = kind == "append" ? Stream::Kind::append : Stream::Kind::truncate;
  stream.path = text.substr(colon + 1);
  if (direction == Direction::in) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("{} takes null or an fd, {}: is for output", key, kind));
  } else if (!stream.path.starts_with('/')) {
    options.refuse(FaultKind::invalid_args,
                   fmt::format("{} path {} is not absolute", key, quoted(stream.path)));
  } else if (stream.path.size() > kPathBytes) {
    options.refuse(FaultKind::limit_exceeded, fmt::format("{} path has {} bytes, at most {} are "
                                                          "allowed",
                                                          key, stream.path.size(), kPathBytes));
  }
}

Stream read_stream(Options& options, const char* key, Direction direction) {
  Stream stream;
  auto value = options.text_or_fd(key);
  if (!value) return stream;
  if (auto* fd = std::get_if<UniqueFd>(&*value)) {
    stream.kind = Stream::Kind::fd;
    stream.fd = std::move(*fd);
  } else {
    parse_stream(options, key, direction, std::get<std::string>(*value), stream);
  }
  return stream;
}

void check_argv(Options& options, const std::vector<std::string>& argv) {
  if (argv.empty()) {
    options.refuse(FaultKind::invalid_args, "argv is empty");
  } else if (argv.front().empty()) {
    options.refuse(FaultKind::invalid_args, "argv[0] is empty");
  }
}

// What every run has, whoever forks its driver.
Spec read_run(Options& options, const RunId& id, const run::Policy& defaults) {
  return {.id = id,
          .argv = {},
          .owner = options.text("Owner", run::kOwnerBytes).value_or(""),
          .token = options.text("Token", run::kTokenBytes).value_or(""),
          .description = options.text("Description", run::kDescriptionBytes).value_or(""),
          .labels = read_labels(options).value_or(std::map<std::string, std::string>{}),
          .environment = {},
          .input = {},
          .output = {},
          .error = {},
          .policy = read_policy(options, defaults),
          .parent = read_parent(options)};
}

void check_pids(Options& options, const std::vector<uint32_t>& pids) {
  if (pids.empty()) options.refuse(FaultKind::invalid_args, "pids is empty");
  if (pids.size() > kPids)
    options.refuse(FaultKind::limit_exceeded,
                   fmt::format("pids has {} entries, at most {} are allowed", pids.size(), kPids));
  for (const uint32_t pid : pids) {
    if (pid == 0 || pid > INT32_MAX)
      options.refuse(FaultKind::invalid_args, fmt::format("{} is no process id", pid));
  }
}

}  // namespace

std::optional<std::map<std::string, std::string>> read_labels(Options& options) {
  auto labels = options.dictionary("Labels");
  if (!labels) return std::nullopt;
  if (labels->size() > run::kLabels) {
    options.refuse(FaultKind::limit_exceeded, fmt::format("Labels has {} entries, at most {} are "
                                                          "allowed",
                                                          labels->size(), run::kLabels));
  }
  for (const auto& [key, value] : *labels) {
    if (key.empty() || key.find('=') != std::string::npos) {
      options.refuse(FaultKind::invalid_args,
                     fmt::format("Labels: key {} is empty or holds a =", quoted(key)));
    }
    if (has_control(key) || has_control(value)) {
      options.refuse(FaultKind::invalid_args,
                     fmt::format("Labels: {} or its value holds a control character", quoted(key)));
    }
    if (key.size() > run::kLabelKeyBytes || value.size() > run::kLabelValueBytes) {
      options.refuse(FaultKind::limit_exceeded,
                     fmt::format("Labels: {} has {} bytes and its value {}, at most {} and {} are "
                                 "allowed",
                                 quoted(key), key.size(), value.size(), run::kLabelKeyBytes,
                                 run::kLabelValueBytes));
    }
  }
  return labels;
}

run::Answer<Spec> start_request(const std::string& id, std::vector<std::string> argv, Dict dict,
                                const run::Policy& defaults) {
  Options options("StartRun", std::move(dict));
  auto run = read_id(options, id);
  if (!run) return tl::unexpected(std::move(*options.finish()));
  check_argv(options, argv);
  Spec spec = read_run(options, *run, defaults);
  spec.argv = std::move(argv);
  spec.working_directory = read_working_directory(options);
  spec.environment = read_environment(options);
  spec.input = read_stream(options, "StandardInput", Direction::in);
  spec.output = read_stream(options, "StandardOutput", Direction::out);
  spec.error = read_stream(options, "StandardError", Direction::out);
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return spec;
}

run::Answer<Spec> open_request(const std::string& id, Dict dict, const run::Policy& defaults) {
  Options options("OpenRun", std::move(dict));
  auto run = read_id(options, id);
  if (!run) return tl::unexpected(std::move(*options.finish()));
  Spec spec = read_run(options, *run, defaults);
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return spec;
}

run::Answer<Spec> adopt_request(const std::string& id, const std::vector<uint32_t>& pids, Dict dict,
                                const run::Policy& defaults) {
  Options options("AdoptProcesses", std::move(dict));
  auto run = read_id(options, id);
  if (!run) return tl::unexpected(std::move(*options.finish()));
  check_pids(options, pids);
  Spec spec = read_run(options, *run, defaults);
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return spec;
}

run::Answer<std::vector<uint32_t>> release_request(std::vector<uint32_t> pids) {
  Options options("Release", {});
  check_pids(options, pids);
  if (auto fault = options.finish()) return tl::unexpected(std::move(*fault));
  return pids;
}
run::Answer<run::DriverExit> exit_request(const std::string& exit, int32_t status) {
  using run::DriverExit;
  const auto word = run::parse_word<DriverExit>(exit);
  if (!word || *word == DriverExit::none || *word == DriverExit::unknown)
    return run::fault(
        FaultKind::invalid_args,
        fmt::format("ReportExit: exit is {}, expected exited, killed or dumped", quoted(exit)));
  const bool fits = *word == DriverExit::exited ? status >= 0 && status <= 255 : is_signal(status);
  if (fits) return *word;
  return run::fault(
      FaultKind::invalid_args,
      fmt::format("ReportExit: status is {}, expected {}", status,
                  *word == DriverExit::exited ? "an exit code, 0 to 255" : "a signal's number"));
}

}  // namespace corral::dbus
