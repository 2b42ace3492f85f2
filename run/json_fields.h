#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "run/id.h"
#include "run/process.h"
#include "run/words.h"

namespace corral::run {

// Takes fields out of a JSON object, one call a field, and remembers the first that is wrong: the
// caller names its fields and asks once, at the end. A field that is wrong keeps its value. Keys
// that nobody names are ignored. Never throws for what the text holds.
class FieldReader {
 public:
  // `path` names the object in messages: "" for the whole, "Leaks[3]." for a part of it. The first
  // error goes to `error`. Both references are borrowed.
  FieldReader(const nlohmann::json& object, std::string path, std::optional<Error>& error)
      : object_(object), path_(std::move(path)), error_(error) {}

  // Fails unless `key` is the version that we write.
  void version(std::string_view key);

  void operator()(std::string_view key, std::string& field);
  void operator()(std::string_view key, bool& field);
  void operator()(std::string_view key, uint32_t& field);
  void operator()(std::string_view key, uint64_t& field);
  void operator()(std::string_view key, int32_t& field);
  void operator()(std::string_view key, std::chrono::microseconds& field);  // never negative
  void operator()(std::string_view key, RunId& field);
  void operator()(std::string_view key, Invocation& field);
  void operator()(std::string_view key, std::vector<std::string>& field);
  void operator()(std::string_view key, std::map<std::string, std::string>& field);
  void operator()(std::string_view key, std::vector<Process>& field);

  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view key, Enum& field) {
    const std::optional<std::string> text = take_string(key);
    if (!text) return;
    const std::optional<Enum> value = parse_word<Enum>(*text);
    if (value) {
      field = *value;
    } else {
      fail_word(key, *text, "unknown word");
    }
  }

  // An absent key is an absent value; a null is an error like any other.
  template <typename T>
  void operator()(std::string_view key, std::optional<T>& field) {
    if (!has(key)) return;
    T value{};
    (*this)(key, value);
    field = value;
  }

  // The object under `key`.
  void object(std::string_view key, const std::function<void(FieldReader&)>& read);
  // Remembers that the value of `key` is wrong, in the words of `problem`.
  void fail(std::string_view key, std::string_view problem);

 private:
  bool has(std::string_view key) const;
  const nlohmann::json* find(std::string_view key);
  std::optional<std::string> take_string(std::string_view key);
  std::optional<uint64_t> take_unsigned(std::string_view key, uint64_t most);
  void fail_word(std::string_view key, std::string_view text, std::string_view problem);

  const nlohmann::json& object_;
  std::string path_;
  std::optional<Error>& error_;
};

// Reads `text` as one JSON object through `read`. The Error is the first thing that is wrong, led
// by `what`: `record: owner_uid: not a number from 0 to 4294967295`.
Result<void> read_fields(std::string_view what, std::string_view text,
                         const std::function<void(FieldReader&)>& read);

// The way back: the same calls put the fields in. Absent values are left out.
class FieldWriter {
 public:
  explicit FieldWriter(nlohmann::json& object) : object_(object) {}

  void version(std::string_view key);

  void operator()(std::string_view key, const std::string& field);
  void operator()(std::string_view key, bool field);
  void operator()(std::string_view key, uint32_t field);
  void operator()(std::string_view key, uint64_t field);
  void operator()(std::string_view key, int32_t field);
  void operator()(std::string_view key, std::chrono::microseconds field);
  void operator()(std::string_view key, const RunId& field);
  void operator()(std::string_view key, const Invocation& field);
  void operator()(std::string_view key, const std::vector<std::string>& field);
  void operator()(std::string_view key, const std::map<std::string, std::string>& field);
  void operator()(std::string_view key, const std::vector<Process>& field);

  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view key, Enum field) { (*this)(key, std::string(word(field))); }

  template <typename T>
  void operator()(std::string_view key, const std::optional<T>& field) {
    if (field) (*this)(key, *field);
  }

  // An object under `key`.
  void object(std::string_view key, const std::function<void(FieldWriter&)>& write);

 private:
  nlohmann::json& object_;
};

// One line of JSON. Bytes that are no UTF-8 become U+FFFD: it never throws for what a field holds.
std::string write_fields(const std::function<void(FieldWriter&)>& write);

}  // namespace corral::run
