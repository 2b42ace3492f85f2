#include "dbus/fit.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/escape.h"
#include "dbus/wire.h"

namespace corral::dbus {
namespace {

constexpr size_t kArrayOverhead = 8;   // length and padding
constexpr size_t kFieldOverhead = 48;  // lengths, NULs, signature and padding of a dict entry

size_t value_size(const std::string& text) {
  return kArrayOverhead + (base::is_utf8(text) ? text.size() : 4 * text.size());
}
size_t value_size(const std::vector<std::string>& texts) {
  size_t size = kArrayOverhead;
  for (const auto& text : texts) size += value_size(text);
  return size;
}
size_t value_size(const std::map<std::string, std::string>& dictionary) {
  size_t size = kArrayOverhead;
  for (const auto& [key, value] : dictionary) {
    size += kArrayOverhead + value_size(key) + value_size(value);
  }
  return size;
}
template <typename T>
requires(!std::is_class_v<T>) size_t value_size(const T&) {
  return 16;  // the longest word of an enum
}

template <typename T>
size_t value_size(const std::optional<T>& value) {
  return value ? value_size(*value) : 0;
}

// The longest beginning of an escaped text that holds no part of an escape or of a character.
void cut(std::string& text, size_t bytes) {
  if (text.size() <= bytes) return;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  const size_t escape = text.rfind('\\', bytes);
  if (escape != std::string::npos && escape < bytes && escape + 4 > bytes) bytes = escape;
  text.resize(bytes);
}

}  // namespace

uint32_t count32(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, std::numeric_limits<uint32_t>::max()));
}

size_t wire_size(const run::Process& process) {
  size_t size = kArrayOverhead;
  run::each_field(process, [&](std::string_view name, const auto& value) {
    size += kFieldOverhead + name.size() + value_size(value);
  });
  return size;
}

void fit(run::Process& process) {
  size_t left = run::kArgvBytes;
  for (size_t i = 0; i < process.argv.size(); ++i) {
    auto& argument = process.argv[i];
    if (argument.size() <= left) {
      left -= argument.size();
      continue;
    }
    cut(argument, left);
    process.argv.resize(argument.empty() ? i : i + 1);
    process.argv_truncated = true;
    break;
  }
  for (std::string* text : {&process.comm, &process.exe, &process.state, &process.control_group,
                            &process.rule, &process.wchan}) {
    cut(*text, kRowBytes / 64);
  }
  size_t size = wire_size(process);
  while (size > kRowBytes && !process.listening.empty()) {
    size -= value_size(process.listening.back());
    process.listening.pop_back();
  }
}

void fit(run::Report& report) {
  size_t size = 0;
  for (size_t i = 0; i < report.leaks.size(); ++i) {
    fit(report.leaks[i]);
    size += wire_size(report.leaks[i]);
    if (size <= kReportBytes) continue;
    report.leaks_omitted += report.leaks.size() - i;
    report.leaks.resize(i);
  }
}

size_t wire_size(const run::Status& status) {
  size_t size = 4 * kFieldOverhead + 4 * status.report.id.size() + status.report.invocation.size();
  each_summary(status, [&](std::string_view name, const auto& value) {
    size += kFieldOverhead + name.size() + value_size(value);
  });
  return size;
}

}  // namespace corral::dbus
