#include "daemon/setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/parse.h"
#include "base/span.h"
#include "run/words.h"

namespace corral::daemon {
namespace {

constexpr std::string_view kInfinity = "infinity";

template <typename... F>
struct Cases : F... {
  using F::operator()...;
};

std::string range_of(Bound least, Bound most) {
  return fmt::format("{} to {}", base::exact_span(least), base::exact_span(most));
}

Error wrong(std::string_view what, const Setting& setting) {
  return {fmt::format("{}; allowed: {}", what, allowed(setting)), 0};
}

Result<Bound> span_within(std::string_view text, Bound least, Bound most, const Setting& setting) {
  const auto span = base::parse_span(text);
  if (!span) return wrong("not a time span such as 500ms, 5s or 1min 30s", setting);
  if (*span < least || *span > most) return wrong("out of range", setting);
  return *span;
}

Result<void> set_as(const PathKey& kind, Config& config, const Setting&, std::string_view text) {
  if (!text.starts_with('/')) return Error{"not an absolute path", 0};
  config.*kind.field = text;
  return {};
}

Result<void> set_as(const SpanKey& kind, Config& config, const Setting& setting,
                    std::string_view text) {
  const auto span = span_within(text, kind.least, kind.most, setting);
  if (!span) return span.error();
  config.*kind.field = *span;
  return {};
}

Result<void> set_as(const LimitKey& kind, Config& config, const Setting& setting,
                    std::string_view text) {
  if (text == kInfinity) {
    (config.*kind.field).reset();
    return {};
  }
  const auto span = span_within(text, kind.least, kind.most, setting);
  if (!span) return span.error();
  config.*kind.field = *span;
  return {};
}

Result<void> set_as(const CountKey& kind, Config& config, const Setting& setting,
                    std::string_view text) {
  const auto number = base::number<uint64_t>(text);
  if (!number) return wrong("not a number", setting);
  if (*number < kind.least || *number > kind.most) return wrong("out of range", setting);
  config.*kind.field = *number;
  return {};
}

template <typename Enum>
Result<void> set_as(const WordKey<Enum>& kind, Config& config, const Setting& setting,
                    std::string_view text) {
  const auto value = run::parse_word<Enum>(text);
  if (!value) return wrong("not a known word", setting);
  config.*kind.field = *value;
  return {};
}

}  // namespace

const Setting* find_setting(std::string_view section, std::string_view key) {
  const auto* found = std::ranges::find_if(
      kSettings, [&](const Setting& s) { return s.section == section && s.key == key; });
  return found == kSettings.end() ? nullptr : found;
}

bool is_section(std::string_view name) {
  return std::ranges::any_of(kSettings, [&](const Setting& s) { return s.section == name; });
}

Result<void> set(Config& config, const Setting& setting, std::string_view text) {
  return std::visit([&](const auto& kind) { return set_as(kind, config, setting, text); },
                    setting.kind);
}

std::string text_of(const Config& config, const Setting& setting) {
  const Cases cases{
      [&](const PathKey& kind) { return config.*kind.field; },
      [&](const SpanKey& kind) { return base::exact_span(config.*kind.field); },
      [&](const LimitKey& kind) {
        const auto& limit = config.*kind.field;
        return limit ? base::exact_span(*limit) : std::string(kInfinity);
      },
      [&](const CountKey& kind) { return std::to_string(config.*kind.field); },
      [&](const auto& kind) { return std::string(run::word(config.*kind.field)); },
  };
  return std::visit(cases, setting.kind);
}

std::string allowed(const Setting& setting) {
  const Cases cases{
      [](const PathKey&) { return std::string("an absolute path"); },
      [](const SpanKey& kind) { return range_of(kind.least, kind.most); },
      [](const LimitKey& kind) {
        return fmt::format("{}, or {}", range_of(kind.least, kind.most), kInfinity);
      },
      [](const CountKey& kind) { return fmt::format("{} to {}", kind.least, kind.most); },
      [](const auto& kind) { return std::string(kind.allowed); },
  };
  return std::visit(cases, setting.kind);
}

std::string settings_as_file() {
  std::string text;
  std::string_view section;
  for (const Setting& setting : kSettings) {
    if (setting.section != section)
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", setting.section);
    section = setting.section;
    text += fmt::format("# {}.\n# Allowed: {}\n#{}={}\n", setting.what, allowed(setting),
                        setting.key, setting.standard);
  }
  return text;
}

}  // namespace corral::daemon
