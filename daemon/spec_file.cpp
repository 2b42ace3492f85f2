#include "daemon/spec_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

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

std::string all_strings(const run::Spec& spec, const run::Invocation& invocation) {
  std::string strings;
  append(strings, spec.working_directory);
  for (const auto* stream : {&spec.input, &spec.output, &spec.error}) append(strings, stream->path);
  for (const auto& argument : spec.argv) append(strings, argument);
  for (const auto& variable : spec.environment) append(strings, variable);
  append(strings, "CORRAL_RUN_ID=" + spec.id.text());
  append(strings, "CORRAL_INVOCATION=" + invocation.text());
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
  const std::string strings = all_strings(spec, invocation);
  const corral_spec header{
      .protocol = CORRAL_PROTOCOL,
      .argc = static_cast<uint32_t>(spec.argv.size()),
      .envc = static_cast<uint32_t>(spec.environment.size() + 2),
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
