#include "run/id.h"

#include <algorithm>

namespace corral::run {
namespace {

constexpr size_t kInvocationDigits = 32;

bool is_id_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == ':' || c == '-';
}

bool is_hex_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

}  // namespace

std::optional<RunId> RunId::parse(std::string_view text) {
  if (text.empty() || text.size() > RunId::kMostBytes || text[0] == '-' || text[0] == '.')
    return std::nullopt;
  if (!std::ranges::all_of(text, is_id_char)) return std::nullopt;
  return RunId(text);
}

std::optional<Invocation> Invocation::parse(std::string_view text) {
  if (text.size() != kInvocationDigits || !std::ranges::all_of(text, is_hex_digit))
    return std::nullopt;
  return Invocation(text);
}

std::string directory_name(const RunId& id, const Invocation& invocation) {
  return id.text() + "." + invocation.text();
}

std::optional<DirectoryName> parse_directory_name(std::string_view name) {
  if (name.size() <= kInvocationDigits + 1) return std::nullopt;
  const size_t dot = name.size() - kInvocationDigits - 1;
  auto id = RunId::parse(name.substr(0, dot));
  auto invocation = Invocation::parse(name.substr(dot + 1));
  if (name[dot] != '.' || !id || !invocation) return std::nullopt;
  return DirectoryName{*id, *invocation};
}

}  // namespace corral::run
