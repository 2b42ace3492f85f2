#include "run/words.h"

#include <array>
#include <cstddef>

namespace corral::run {
namespace {

using std::string_view_literals::operator""sv;

template <typename Enum>
struct Words;  // the strings of an enum, in the order of its enumerators

template <>
struct Words<State> {
  static constexpr std::array kAll = {"starting"sv, "running"sv, "ending"sv, "holding"sv,
                                      "ended"sv};
};
template <>
struct Words<DriverExit> {
  static constexpr std::array kAll = {""sv, "exited"sv, "killed"sv, "dumped"sv, "unknown"sv};
};
template <>
struct Words<RunResult> {
  static constexpr std::array kAll = {""sv,          "success"sv,  "exit-code"sv,    "signal"sv,
                                      "core-dump"sv, "oom-kill"sv, "start-failed"sv, "unknown"sv};
};
template <>
struct Words<EndReason> {
  static constexpr std::array kAll = {""sv,         "driver-exited"sv, "requested"sv,
                                      "deadline"sv, "lease-lost"sv,    "parent-ended"sv,
                                      "reboot"sv,   "lost"sv};
};
template <>
struct Words<Outcome> {
  static constexpr std::array kAll = {"left"sv,   "exited"sv, "term"sv,  "kill"sv,
                                      "frozen"sv, "kept"sv,   "stuck"sv, "escaped"sv};
};
template <>
struct Words<Detached> {
  static constexpr std::array kAll = {"own-session"sv, "own-group"sv, "orphaned"sv, "no"sv};
};
template <>
struct Words<Containment> {
  static constexpr std::array kAll = {"enforced"sv, "cooperative"sv, "adopted"sv};
};
template <>
struct Words<OnDriverExit> {
  static constexpr std::array kAll = {"kill"sv, "freeze"sv, "report"sv};
};
template <>
struct Words<Enforcement> {
  static constexpr std::array kAll = {"enforce"sv, "observe"sv};
};
template <>
struct Words<Kind> {
  static constexpr std::array kAll = {"driver"sv, "kept"sv};
};

template <typename Enum>
constexpr std::string_view word_of(Enum value) {
  return Words<Enum>::kAll.at(static_cast<size_t>(value));
}

}  // namespace

std::string_view word(State value) {
  return word_of(value);
}
std::string_view word(DriverExit value) {
  return word_of(value);
}
std::string_view word(RunResult value) {
  return word_of(value);
}
std::string_view word(EndReason value) {
  return word_of(value);
}
std::string_view word(Outcome value) {
  return word_of(value);
}
std::string_view word(Detached value) {
  return word_of(value);
}
std::string_view word(Containment value) {
  return word_of(value);
}
std::string_view word(OnDriverExit value) {
  return word_of(value);
}
std::string_view word(Enforcement value) {
  return word_of(value);
}
std::string_view word(Kind value) {
  return word_of(value);
}

template <typename Enum>
std::optional<Enum> parse_word(std::string_view text) {
  constexpr auto& all = Words<Enum>::kAll;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

template std::optional<State> parse_word(std::string_view);
template std::optional<DriverExit> parse_word(std::string_view);
template std::optional<RunResult> parse_word(std::string_view);
template std::optional<EndReason> parse_word(std::string_view);
template std::optional<Outcome> parse_word(std::string_view);
template std::optional<Detached> parse_word(std::string_view);
template std::optional<Containment> parse_word(std::string_view);
template std::optional<OnDriverExit> parse_word(std::string_view);
template std::optional<Enforcement> parse_word(std::string_view);
template std::optional<Kind> parse_word(std::string_view);

}  // namespace corral::run
