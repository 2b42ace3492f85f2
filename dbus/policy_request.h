#pragma once

#include <chrono>
#include <optional>

#include "dbus/options.h"
#include "run/policy.h"

namespace corral::dbus {

// A span of time, or UINT64_MAX for none, as systemd writes "infinity".
struct Span {
  std::optional<std::chrono::microseconds> value;
};
// nullopt where the key is absent or was refused; 0 is refused.
std::optional<Span> read_span(Options& options, const char* key);
std::optional<run::Enforcement> read_enforcement(Options& options);

// How a run may end; what is not asked is as in `defaults`. Refuses what contradicts itself.
run::Policy read_policy(Options& options, const run::Policy& defaults);

}  // namespace corral::dbus
