#pragma once

#include <rapidcheck.h>

#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "run/record.h"

namespace corral::run {

// Values for properties; to be called inside one (each takes what rapidcheck gives).

// Text that JSON or a terminal could stumble over, all of it valid UTF-8.
inline std::string any_text() {
  static const std::vector<std::string> kPieces = {
      "a",      "Z",          "0",  " ",    "\"",      "\\",
      "/",      "\n",         "\t", "\x01", "\x1b",    "\x7f",
      "\u0080", "\u00e9",     "<",  "{",    "\u20ac",  "\ufffd",
      "\uffff", "\U0001f410", "[",  "null", "\\u0000", std::string(1, '\0')};
  const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces));
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

inline std::string any_string_of(const std::string& characters, size_t least, size_t most) {
  const auto length = *rc::gen::inRange(least, most + 1);
  return *rc::gen::container<std::string>(length, rc::gen::elementOf(characters));
}

inline RunId any_run_id() {
  const std::string first = "ABZabz059_:";
  return *RunId::parse(any_string_of(first, 1, 1) + any_string_of(first + ".-", 0, 127));
}

inline Invocation any_invocation() {
  return *Invocation::parse(any_string_of("0123456789abcdef", 32, 32));
}

// Fills whatever field it is called with: a generator for all that each_field() goes over.
struct Fill {
  void operator()(std::string_view key, std::string& field) const {
    if (key == "Id") {
      field = any_run_id().text();
    } else if (key == "Invocation") {
      field = any_invocation().text();
    } else {
      field = any_text();
    }
  }
  void operator()(std::string_view key, std::vector<std::string>& field) const {
    field.resize(*rc::gen::inRange<size_t>(0, 4));
    for (std::string& item : field) (*this)(key, item);
  }
  void operator()(std::string_view, std::vector<Process>& field) const {
    field.resize(*rc::gen::inRange<size_t>(0, 4));
    for (Process& process : field) each_field(process, *this);
  }
  template <typename T>
  void operator()(std::string_view key, std::optional<T>& field) const {
    if (*rc::gen::arbitrary<bool>()) (*this)(key, field.emplace());
  }
  template <typename T>
  requires std::is_arithmetic_v<T>
  void operator()(std::string_view, T& field) const {
    using Limits = std::numeric_limits<T>;
    field =
        *rc::gen::oneOf(rc::gen::arbitrary<T>(), rc::gen::element(Limits::min(), Limits::max()));
  }
  template <typename T>
  requires std::is_enum_v<T>
  void operator()(std::string_view, T& field) const {
    static const std::vector<T> kAll = every<T>();
    field = *rc::gen::elementOf(kAll);
  }

 private:
  template <typename T>
  static std::vector<T> every() {
    std::vector<T> all;
    for (int i = 0;; ++i) {
      try {
        (void)word(static_cast<T>(i));
      } catch (const std::out_of_range&) {  // there is no word past the last enumerator
        return all;
      }
      all.push_back(static_cast<T>(i));
    }
  }
};

inline base::Moment any_moment() {
  base::Moment moment;
  Fill()("", moment.realtime_usec);
  Fill()("", moment.monotonic_usec);
  return moment;
}

inline std::chrono::microseconds any_duration() {
  return std::chrono::microseconds{*rc::gen::nonNegative<int64_t>()};
}

inline Report any_report() {
  Report report;
  each_field(report, Fill());
  report.token = any_text();
  return report;
}

inline std::map<std::string, std::string> any_labels() {
  std::map<std::string, std::string> labels;
  for (size_t n = *rc::gen::inRange<size_t>(0, 5); n > 0; --n) labels[any_text()] = any_text();
  return labels;
}

inline Record any_record() {
  Record record{any_run_id(), any_invocation(),     any_text(), 0,          any_text(),
                any_text(),   any_labels(),         {},         any_text(), 0,
                any_moment(), Containment::enforced};
  Fill()("", record.owner_uid);
  Fill()("", record.cgroup_id);
  Fill()("", record.containment);
  record.policy.settle = any_duration();
  record.policy.grace = any_duration();
  record.policy.term_signal = *rc::gen::inRange(1, 65);
  return record;
}

inline Stub any_stub() {
  Stub stub{any_run_id(), any_invocation(), any_text(), 0, any_text(), any_text(), 0, any_moment()};
  Fill()("", stub.owner_uid);
  Fill()("", stub.cgroup_id);
  return stub;
}

inline Ending any_ending() {
  Ending ending{EndReason::none, any_text(), any_text(), false, any_moment(), 0, 0};
  Fill()("", ending.reason);
  ending.all_asked = *rc::gen::arbitrary<bool>();
  Fill()("", ending.kill_at_usec);
  Fill()("", ending.terminated);
  return ending;
}

}  // namespace corral::run
