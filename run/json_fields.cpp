#include "run/json_fields.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/escape.h"
#include "run/record.h"

namespace corral::run {
namespace {

using nlohmann::json;

constexpr size_t kShownBytes = 64;  // of a wrong value, in an error message

std::string shown(std::string_view text) {
  return base::escape(text.substr(0, kShownBytes));
}

std::string numbers(int64_t least, uint64_t most) {
  return fmt::format("not a number from {} to {}", least, most);
}

}  // namespace

void FieldReader::fail(std::string_view key, std::string_view problem) {
  if (!error_) error_ = Error{fmt::format("{}{}: {}", path_, key, problem), 0};
}

void FieldReader::fail_word(std::string_view key, std::string_view text, std::string_view problem) {
  fail(key, fmt::format("\"{}\": {}", shown(text), problem));
}

bool FieldReader::has(std::string_view key) const {
  return object_.contains(key);
}

const json* FieldReader::find(std::string_view key) {
  const auto found = object_.find(key);
  if (found != object_.end()) return &*found;
  fail(key, "missing");
  return nullptr;
}

std::optional<std::string> FieldReader::take_string(std::string_view key) {
  const json* value = find(key);
  if (!value) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  fail(key, "not a string");
  return std::nullopt;
}

std::optional<uint64_t> FieldReader::take_unsigned(std::string_view key, uint64_t most) {
  const json* value = find(key);
  if (!value) return std::nullopt;
  // A number past 64 bits is read as a float: no unsigned one.
  if (value->is_number_unsigned() && value->get<uint64_t>() <= most) return value->get<uint64_t>();
  fail(key, numbers(0, most));
  return std::nullopt;
}

void FieldReader::version(std::string_view key) {
  const auto value = take_unsigned(key, std::numeric_limits<uint32_t>::max());
  if (value && *value != kRecordVersion)
    fail(key, fmt::format("{}, and this program reads {} only", *value, kRecordVersion));
}

void FieldReader::operator()(std::string_view key, std::string& field) {
  if (auto text = take_string(key)) field = std::move(*text);
}

void FieldReader::operator()(std::string_view key, bool& field) {
  const json* value = find(key);
  if (!value) return;
  if (!value->is_boolean()) return fail(key, "neither true nor false");
  field = value->get<bool>();
}

void FieldReader::operator()(std::string_view key, uint32_t& field) {
  const auto value = take_unsigned(key, std::numeric_limits<uint32_t>::max());
  if (value) field = static_cast<uint32_t>(*value);
}

void FieldReader::operator()(std::string_view key, uint64_t& field) {
  if (const auto value = take_unsigned(key, std::numeric_limits<uint64_t>::max())) field = *value;
}

void FieldReader::operator()(std::string_view key, int32_t& field) {
  using Limits = std::numeric_limits<int32_t>;
  const json* value = find(key);
  if (!value) return;
  const bool fits = value->is_number_unsigned()
                        ? value->get<uint64_t>() <= Limits::max()
                        : value->is_number_integer() && value->get<int64_t>() >= Limits::min();
  if (!fits) return fail(key, numbers(Limits::min(), Limits::max()));
  field = value->get<int32_t>();
}

void FieldReader::operator()(std::string_view key, std::chrono::microseconds& field) {
  const auto value = take_unsigned(key, std::numeric_limits<int64_t>::max());
  if (value) field = std::chrono::microseconds{*value};
}

void FieldReader::operator()(std::string_view key, RunId& field) {
  const auto text = take_string(key);
  if (!text) return;
  const auto id = RunId::parse(*text);
  if (!id) return fail_word(key, *text, fmt::format("no run id ({})", RunId::kRule));
  field = *id;
}

void FieldReader::operator()(std::string_view key, Invocation& field) {
  const auto text = take_string(key);
  if (!text) return;
  const auto invocation = Invocation::parse(*text);
  if (!invocation) return fail_word(key, *text, "no invocation (32 lower-case hex digits)");
  field = *invocation;
}

void FieldReader::operator()(std::string_view key, std::vector<std::string>& field) {
  const json* value = find(key);
  if (!value) return;
  if (!value->is_array()) return fail(key, "not a list");
  std::vector<std::string> strings;
  for (const json& item : *value) {
    if (!item.is_string()) return fail(key, fmt::format("item {} is not a string", strings.size()));
    strings.push_back(item.get<std::string>());
  }
  field = std::move(strings);
}

void FieldReader::operator()(std::string_view key, std::map<std::string, std::string>& field) {
  const json* value = find(key);
  if (!value) return;
  if (!value->is_object()) return fail(key, "not an object");
  std::map<std::string, std::string> strings;
  for (const auto& item : value->items()) {
    if (!item.value().is_string())
      return fail(key, fmt::format("the value of \"{}\" is not a string", shown(item.key())));
    strings[item.key()] = item.value().get<std::string>();
  }
  field = std::move(strings);
}

void FieldReader::operator()(std::string_view key, std::vector<Process>& field) {
  const json* value = find(key);
  if (!value) return;
  if (!value->is_array()) return fail(key, "not a list");
  std::vector<Process> processes;
  for (const json& item : *value) {
    if (!item.is_object())
      return fail(key, fmt::format("item {} is not an object", processes.size()));
    FieldReader reader(item, fmt::format("{}{}[{}].", path_, key, processes.size()), error_);
    each_field(processes.emplace_back(), reader);
  }
  field = std::move(processes);
}

void FieldReader::object(std::string_view key, const std::function<void(FieldReader&)>& read) {
  const json* value = find(key);
  if (!value) return;
  if (!value->is_object()) return fail(key, "not an object");
  FieldReader reader(*value, fmt::format("{}{}.", path_, key), error_);
  read(reader);
}

Result<void> read_fields(std::string_view what, std::string_view text,
                         const std::function<void(FieldReader&)>& read) {
  json whole;
  try {
    whole = json::parse(text);
  } catch (const json::parse_error& error) {
    return Error{fmt::format("{}: not JSON at byte {} of {}", what, error.byte, text.size()), 0};
  } catch (const json::exception& error) {  // a float past all bounds
    return Error{fmt::format("{}: not JSON: {}", what, shown(error.what())), 0};
  }
  if (!whole.is_object()) return Error{fmt::format("{}: not a JSON object", what), 0};
  std::optional<Error> wrong;
  FieldReader reader(whole, fmt::format("{}: ", what), wrong);
  read(reader);
  if (wrong) return std::move(*wrong);
  return {};
}

void FieldWriter::version(std::string_view key) {
  (*this)(key, uint32_t{kRecordVersion});
}

void FieldWriter::operator()(std::string_view key, const std::string& field) {
  object_[std::string(key)] = field;
}

void FieldWriter::operator()(std::string_view key, bool field) {
  object_[std::string(key)] = field;
}

void FieldWriter::operator()(std::string_view key, uint32_t field) {
  object_[std::string(key)] = field;
}

void FieldWriter::operator()(std::string_view key, uint64_t field) {
  object_[std::string(key)] = field;
}

void FieldWriter::operator()(std::string_view key, int32_t field) {
  object_[std::string(key)] = field;
}

void FieldWriter::operator()(std::string_view key, std::chrono::microseconds field) {
  object_[std::string(key)] = field.count();
}

void FieldWriter::operator()(std::string_view key, const RunId& field) {
  object_[std::string(key)] = field.text();
}

void FieldWriter::operator()(std::string_view key, const Invocation& field) {
  object_[std::string(key)] = field.text();
}

void FieldWriter::operator()(std::string_view key, const std::vector<std::string>& field) {
  object_[std::string(key)] = field;
}

void FieldWriter::operator()(std::string_view key,
                             const std::map<std::string, std::string>& field) {
  object_[std::string(key)] = field;
}

void FieldWriter::operator()(std::string_view key, const std::vector<Process>& field) {
  json list = json::array();
  for (const Process& process : field) {
    FieldWriter writer(list.emplace_back(json::object()));
    each_field(process, writer);
  }
  object_[std::string(key)] = std::move(list);
}

void FieldWriter::object(std::string_view key, const std::function<void(FieldWriter&)>& write) {
  FieldWriter inner(object_[std::string(key)] = nlohmann::json::object());
  write(inner);
}

std::string write_fields(const std::function<void(FieldWriter&)>& write) {
  json object = json::object();
  FieldWriter writer(object);
  write(writer);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace corral::run
