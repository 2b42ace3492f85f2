#pragma once

#include <sdbus-c++/Types.h>

#include <cstdint>
#include <map>
#include <string>

#include "cli/service.h"

namespace corral::cli {

using Dict = std::map<std::string, sdbus::Variant>;

// The a{sv} of each request: what was not asked for is left out, so that the service's defaults
// hold. Throws sdbus::Error where a stream's fd cannot be duplicated.
Dict options_of(const RunRef& run);
Dict options_of(const StartRequest& request);
Dict options_of_opening(const StartRequest& request);  // OpenRun: what holds for any driver
Dict options_of(const EndRequest& request);
Dict options_of(const EndsRequest& request);
Dict options_of(const RunRef& run, const SetRequest& request);
Dict options_of(const RunFilter& filter);
Dict options_of(const ProcessFilter& filter, uint64_t offset, uint64_t limit);

}  // namespace corral::cli
