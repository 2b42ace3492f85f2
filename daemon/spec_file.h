#pragma once

#include "base/result.h"
#include "base/unique_fd.h"
#include "run/spec.h"

namespace corral::daemon {

// The spec of a start as the spawner reads it (init/protocol.h), in a memfd(2) that is sealed
// against change.
Result<UniqueFd> make_spec_file(const run::Spec& spec, const run::Invocation& invocation);

}  // namespace corral::daemon
