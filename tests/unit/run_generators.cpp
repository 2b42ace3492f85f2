#include "run_generators.h"

#include <rapidcheck.h>

#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace corral::run {
namespace {

// All else is made of these two: each generator of rapidcheck costs seconds to compile.
uint64_t any_number() {
  return *rc::gen::arbitrary<uint64_t>();
}

size_t below(size_t bound) {
  return *rc::gen::inRange<size_t>(0, bound);
}

std::string any_string_of(std::string_view characters, size_t least, size_t most) {
  std::string text(least + below(most - least + 1), characters[0]);
  for (char& c : text) c = characters[below(characters.size())];
  return text;
}

template <typename Enum>
std::vector<Enum> every() {
  std::vector<Enum> all;
  for (int i = 0;; ++i) {
    try {
      (void)word(static_cast<Enum>(i));
    } catch (const std::out_of_range&) {  // there is no word past the last enumerator
      return all;
    }
    all.push_back(static_cast<Enum>(i));
  }
}

// Fills whatever field it is called with: a generator for all that each_field() goes over.
struct Fill {
  void operator()(std::string_view key, std::string& field) const {
    field = key == "Id"           ? any_run_id().text()
            : key == "Invocation" ? any_invocation().text()
                                  : any_text();
  }
  void operator()(std::string_view key, std::vector<std::string>& field) const {
    field.resize(below(4));
    for (std::string& item : field) (*this)(key, item);
  }
  void operator()(std::string_view, std::vector<Process>& field) const {
    field.resize(below(4));
    for (Process& process : field) each_field(process, *this);
  }
  template <typename T>
  void operator()(std::string_view key, std::optional<T>& field) const {
    if (below(2) == 1) (*this)(key, field.emplace());
  }
  void operator()(std::string_view, bool& field) const { field = below(2) == 1; }
  template <typename T>
  requires std::is_integral_v<T>
  void operator()(std::string_view, T& field) const {
    using Limits = std::numeric_limits<T>;
    const size_t choice = below(6);
    field = choice == 0   ? Limits::min()
            : choice == 1 ? Limits::max()
                          : static_cast<T>(any_number());
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view, Enum& field) const {
    static const std::vector<Enum> kAll = every<Enum>();
    field = kAll[below(kAll.size())];
  }
};

template <typename T>
T any() {
  T value{};
  Fill()("", value);
  return value;
}

base::Moment any_moment() {
  return {any<uint64_t>(), any<uint64_t>()};
}

std::chrono::microseconds any_duration() {
  return std::chrono::microseconds{any<uint64_t>() >> 1};
}

template <typename T>
std::optional<T> maybe(T value) {
  return below(2) == 1 ? std::optional(std::move(value)) : std::nullopt;
}

std::map<std::string, std::string> any_labels() {
  std::map<std::string, std::string> labels;
  for (size_t n = below(5); n > 0; --n) labels[any_text()] = any_text();
  return labels;
}

}  // namespace

std::string any_bytes() {
  std::string bytes(below(40), '\0');
  for (char& byte : bytes) byte = static_cast<char>(any_number());
  return bytes;
}

std::string any_text() {
  static const std::vector<std::string> kPieces = {
      "a",      "Z",          "0",  " ",    "\"",      "\\",
      "/",      "\n",         "\t", "\x01", "\x1b",    "\x7f",
      "\u0080", "\u00e9",     "<",  "{",    "\u20ac",  "\ufffd",
      "\uffff", "\U0001f410", "[",  "null", "\\u0000", std::string(1, '\0')};
  std::string text;
  for (size_t n = below(12); n > 0; --n) text += kPieces[below(kPieces.size())];
  return text;
}

RunId any_run_id() {
  constexpr std::string_view kFirst = "ABZabz059_:";
  constexpr std::string_view kLater = "ABZabz059_:.-";
  return *RunId::parse(any_string_of(kFirst, 1, 1) + any_string_of(kLater, 0, 127));
}

Invocation any_invocation() {
  return *Invocation::parse(any_string_of("0123456789abcdef", 32, 32));
}

Report any_report() {
  Report report;
  each_field(report, Fill());
  report.token = any_text();
  return report;
}

Record any_record() {
  return {.id = any_run_id(),
          .invocation = any_invocation(),
          .owner = any_text(),
          .owner_uid = any<uint32_t>(),
          .token = any_text(),
          .description = any_text(),
          .labels = any_labels(),
          .policy = {.on_driver_exit = any<OnDriverExit>(),
                     .settle = any_duration(),
                     .grace = any_duration(),
                     .term_signal = 1 + static_cast<int>(below(64)),
                     .runtime_max = maybe(any_duration()),
                     .hold_max = maybe(any_duration()),
                     .lease = maybe(any_duration()),
                     .enforcement = any<Enforcement>(),
                     .keep = {any_text(), any_text()}},
          .boot_id = any_text(),
          .cgroup_id = any<uint64_t>(),
          .start = any_moment(),
          .containment = any<Containment>(),
          .opener = {.pid = any<uint32_t>(), .start_time = any<uint64_t>()},
          .kind = any<Kind>(),
          .spared_from = maybe(DirectoryName{any_run_id(), any_invocation()})};
}

Ending any_ending() {
  return {.reason = any<EndReason>(),
          .message = any_text(),
          .ended_by = any_text(),
          .asked = any<bool>(),
          .holding = any<bool>(),
          .all_asked = any<bool>(),
          .began = any_moment(),
          .kill_at_usec = any<uint64_t>(),
          .hold_until_usec = any<uint64_t>()};
}

}  // namespace corral::run
