#include "daemon/spec_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "init/protocol.h"

namespace corral::daemon {
namespace {

uint32_t wire_kind(run::Stream::Kind kind) {
  switch (kind) {
    case run::Stream::Kind::null:
      return CORRAL_STREAM_NULL;
    case run::Stream::Kind::append:
      return CORRAL_STREAM_APPEND;
    case run::Stream::Kind::truncate:
      return CORRAL_STREAM_TRUNCATE;
    case run::Stream::Kind::fd:
      return CORRAL_STREAM_FD;
  }
  return CORRAL_STREAM_NULL;
}

void append(std::string& strings, std::string_view text) {
  strings += text;
  strings += '\0';
}

const std::string kIdVariable = "CORRAL_RUN_ID=", kInvocationVariable = "CORRAL_INVOCATION=";

// Given from outside, of an outer run say, they would stand before ours, and getenv(3) finds the
// first.
bool is_ours(const std::string& variable) {
  return variable.starts_with(kIdVariable) || variable.starts_with(kInvocationVariable);
}

std::vector<std::string> environment_of(const run::Spec& spec, const run::Invocation& invocation) {
  std::vector<std::string> environment;
  for (const auto& variable : spec.environment)
    if (!is_ours(variable)) environment.push_back(variable);
  environment.push_back(kIdVariable + spec.id.text());
  environment.push_back(kInvocationVariable + invocation.text());
  return environment;
}

std::string all_strings(const run::Spec& spec, const std::vector<std::string>& environment) {
  std::string strings;
  append(strings, spec.working_directory);
  for (const auto* stream : {&spec.input, &spec.output, &spec.error}) append(strings, stream->path);
  for (const auto* words : {&spec.argv, &environment})
    for (const auto& word : *words) append(strings, word);
  return strings;
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0) return failed(errno, "write the spec");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<UniqueFd> make_spec_file(const run::Spec& spec, const run::Invocation& invocation) {
  const auto environment = environment_of(spec, invocation);
  const std::string strings = all_strings(spec, environment);
  const corral_spec header{
      .protocol = CORRAL_PROTOCOL,
      .argc = static_cast<uint32_t>(spec.argv.size()),
      .envc = static_cast<uint32_t>(environment.size()),
      .stream = {wire_kind(spec.input.kind), wire_kind(spec.output.kind),
                 wire_kind(spec.error.kind)},
      .bytes = strings.size(),
  };
  UniqueFd file(memfd_create("corral-spec", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return failed(errno, "memfd_create for the spec");
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += strings;
  auto written = write_all(file.get(), bytes);
  if (!written) return written.error();
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
    return failed(errno, "seal the spec");
  return file;
}

}  // namespace corral::daemon
