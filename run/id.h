#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace corral::run {

// An engine's name for a run: 1 to 128 of [A-Za-z0-9_.:-], not led by '-' or '.'. It is also a part
// of the name of a directory.
class RunId {
 public:
  static constexpr size_t kMostBytes = 128;
  static constexpr std::string_view kRule = "1 to 128 of A-Z a-z 0-9 _ . : -, the first no - or .";

  static std::optional<RunId> parse(std::string_view text);
  const std::string& text() const { return text_; }
  friend auto operator<=>(const RunId&, const RunId&) = default;

 private:
  explicit RunId(std::string_view text) : text_(text) {}
  std::string text_;
};

// One start of a run: 32 lower-case hex digits, random, never used twice. An id may come again, an
// invocation does not.
class Invocation {
 public:
  static std::optional<Invocation> parse(std::string_view text);
  const std::string& text() const { return text_; }
  friend auto operator<=>(const Invocation&, const Invocation&) = default;

 private:
  explicit Invocation(std::string_view text) : text_(text) {}
  std::string text_;
};

// The name of a run's directory: "<id>.<invocation>", so that a resumed id never collides.
std::string directory_name(const RunId& id, const Invocation& invocation);

struct DirectoryName {
  RunId id;
  Invocation invocation;

  friend bool operator==(const DirectoryName&, const DirectoryName&) = default;
};
// The way back; nullopt for a name that directory_name() does not make.
std::optional<DirectoryName> parse_directory_name(std::string_view name);

}  // namespace corral::run
