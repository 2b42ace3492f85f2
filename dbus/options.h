#pragma once

#include <sdbus-c++/Types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/unique_fd.h"
#include "run/fault.h"

namespace corral::dbus {

using Dict = std::map<std::string, sdbus::Variant>;

// Reads the a{sv} of one call. Each getter takes its key out and checks it: nullopt where the key
// is absent or its value was refused. The first thing refused is kept, so that a reader asks for
// all keys it knows, then once for finish(). Messages begin with the call's name.
class Options {
 public:
  Options(std::string_view call, Dict values);

  // LimitExceeded past `limit` bytes.
  std::optional<std::string> text(const char* key, size_t limit);
  std::optional<bool> flag(const char* key);
  // Any integer type (y n q i u x t); InvalidArgs outside `least` to `most`.
  std::optional<int64_t> integer(const char* key, int64_t least, int64_t most);
  // Microseconds, 0 to `most`.
  std::optional<std::chrono::microseconds> duration(const char* key,
                                                    std::chrono::microseconds most);
  std::optional<std::vector<std::string>> texts(const char* key);
  std::optional<std::map<std::string, std::string>> dictionary(const char* key);
  // The fd is a duplicate, close-on-exec.
  std::optional<std::variant<std::string, UniqueFd>> text_or_fd(const char* key);

  // Refuses the call for a reason of the reader's own.
  void refuse(run::FaultKind kind, std::string_view reason);
  // What was refused first, or a key that nobody asked for; nullopt where all is well.
  std::optional<run::Fault> finish();

 private:
  template <typename T>
  std::optional<T> take(const char* key);
  std::optional<sdbus::Variant> take_any(const char* key);
  void refuse_type(const char* key, std::string_view expected, std::string_view got);

  std::string call_;
  Dict values_;
  std::optional<run::Fault> refused_;
};

// What a caller sent, as a message may quote it: escaped, in quotation marks, cut.
std::string quoted(std::string_view text);

}  // namespace corral::dbus
