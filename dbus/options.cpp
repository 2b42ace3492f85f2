#include "dbus/options.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/escape.h"

namespace corral::dbus {
namespace {

using run::FaultKind;

constexpr size_t kQuotedBytes = 64;

// The value as an int64_t where it fits; a larger one is past every range that we have.
template <typename T>
int64_t clamped(const sdbus::Variant& value) {
  const T number = value.get<T>();
  return std::in_range<int64_t>(number) ? static_cast<int64_t>(number) : INT64_MAX;
}

std::optional<int64_t> any_integer(const sdbus::Variant& value) {
  const std::string type = value.peekValueType();
  if (type == "y") return clamped<uint8_t>(value);
  if (type == "n") return clamped<int16_t>(value);
  if (type == "q") return clamped<uint16_t>(value);
  if (type == "i") return clamped<int32_t>(value);
  if (type == "u") return clamped<uint32_t>(value);
  if (type == "x") return clamped<int64_t>(value);
  if (type == "t") return clamped<uint64_t>(value);
  return std::nullopt;
}

}  // namespace

std::string quoted(std::string_view text) {
  // Cut first: escaping takes a cut character for bytes.
  const bool cut = text.size() > kQuotedBytes;
  return fmt::format("\"{}{}\"", base::escape(text.substr(0, kQuotedBytes)), cut ? "..." : "");
}

Options::Options(std::string_view call, Dict values) : call_(call), values_(std::move(values)) {}

std::optional<sdbus::Variant> Options::take_any(const char* key) {
  auto entry = values_.extract(key);
  if (!entry) return std::nullopt;
  return std::move(entry.mapped());
}

template <typename T>
std::optional<T> Options::take(const char* key) {
  const auto value = take_any(key);
  if (!value) return std::nullopt;
  if (value->containsValueOfType<T>()) return value->get<T>();
  refuse_type(key, sdbus::signature_of<T>::str(), value->peekValueType());
  return std::nullopt;
}

std::optional<std::string> Options::text(const char* key, size_t limit) {
  auto value = take<std::string>(key);
  if (value && value->size() > limit) {
    refuse(FaultKind::limit_exceeded,
           fmt::format("{} has {} bytes, at most {} are allowed", key, value->size(), limit));
    return std::nullopt;
  }
  return value;
}

std::optional<bool> Options::flag(const char* key) {
  return take<bool>(key);
}

std::optional<int64_t> Options::integer(const char* key, int64_t least, int64_t most) {
  const auto value = take_any(key);
  if (!value) return std::nullopt;
  const auto number = any_integer(*value);
  if (!number) {
    refuse_type(key, "an integer", value->peekValueType());
  } else if (*number < least || *number > most) {
    refuse(FaultKind::invalid_args, fmt::format("{} must be {} to {}", key, least, most));
    return std::nullopt;
  }
  return number;
}

std::optional<std::chrono::microseconds> Options::duration(const char* key,
                                                           std::chrono::microseconds most) {
  const auto value = integer(key, 0, most.count());
  if (!value) return std::nullopt;
  return std::chrono::microseconds{*value};
}

std::optional<std::vector<std::string>> Options::texts(const char* key) {
  return take<std::vector<std::string>>(key);
}

std::optional<std::map<std::string, std::string>> Options::dictionary(const char* key) {
  return take<std::map<std::string, std::string>>(key);
}

std::optional<std::variant<std::string, UniqueFd>> Options::text_or_fd(const char* key) {
  const auto value = take_any(key);
  if (!value) return std::nullopt;
  if (value->containsValueOfType<std::string>()) return value->get<std::string>();
  if (!value->containsValueOfType<sdbus::UnixFd>()) {
    refuse_type(key, "s or h", value->peekValueType());
    return std::nullopt;
  }
  // sdbus::UnixFd dups without close-on-exec.
  const auto fd = value->get<sdbus::UnixFd>();
  UniqueFd copy{fcntl(fd.get(), F_DUPFD_CLOEXEC, 3)};
  if (!copy) {
    refuse(FaultKind::limit_exceeded,
           fmt::format("cannot keep the fd of {}: {}", key, strerror(errno)));
    return std::nullopt;
  }
  return copy;
}

void Options::refuse(FaultKind kind, std::string_view reason) {
  if (!refused_) refused_ = run::Fault{kind, fmt::format("{}: {}", call_, reason)};
}

void Options::refuse_type(const char* key, std::string_view expected, std::string_view got) {
  refuse(FaultKind::invalid_args,
         fmt::format("{} is of type {}, expected {}", key, got.substr(0, kQuotedBytes), expected));
}

std::optional<run::Fault> Options::finish() {
  if (!values_.empty()) {
    refuse(FaultKind::invalid_args,
           fmt::format("unknown option {}", quoted(values_.begin()->first)));
  }
  return std::exchange(refused_, std::nullopt);
}

}  // namespace corral::dbus
