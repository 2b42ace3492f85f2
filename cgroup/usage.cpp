#include "cgroup/usage.h"

#include "base/file.h"
#include "base/parse.h"

namespace corral::cgroup {
namespace {

std::optional<std::string> text_of(const Group& group, const char* file) {
  auto text = base::read_at(group.fd(), file);
  if (!text) return std::nullopt;
  return std::move(*text);
}

std::optional<uint64_t> single(const Group& group, const char* file) {
  const auto text = text_of(group, file);
  return text ? base::number<uint64_t>(base::trimmed(*text)) : std::nullopt;
}

std::optional<uint64_t> keyed(const Group& group, const char* file, std::string_view key) {
  const auto text = text_of(group, file);
  return text ? base::keyed(*text, key) : std::nullopt;
}

}  // namespace

std::optional<IoBytes> parse_io_stat(std::string_view text) {
  IoBytes sum;
  for (std::string_view line : base::split(text, '\n')) {
    for (std::string_view field : base::split(line, ' ')) {
      const auto equals = field.find('=');
      if (equals == std::string_view::npos) continue;  // the device, or one without figures
      const std::string_view key = field.substr(0, equals);
      if (key != "rbytes" && key != "wbytes") continue;
      const auto value = base::number<uint64_t>(field.substr(equals + 1));
      if (!value) return std::nullopt;
      (key == "rbytes" ? sum.read : sum.write) += *value;
    }
  }
  return sum;
}

Usage read_usage(const Group& group) {
  Usage usage{.cpu_usec = keyed(group, "cpu.stat", "usage_usec"),
              .memory_peak = single(group, "memory.peak"),
              .oom_kills = keyed(group, "memory.events", "oom_kill"),
              .pids_peak = single(group, "pids.peak"),
              .io_read_bytes = std::nullopt,
              .io_write_bytes = std::nullopt};
  const auto io = text_of(group, "io.stat");
  if (const auto bytes = io ? parse_io_stat(*io) : std::nullopt) {
    usage.io_read_bytes = bytes->read;
    usage.io_write_bytes = bytes->write;
  }
  return usage;
}

}  // namespace corral::cgroup
