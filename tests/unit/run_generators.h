#pragma once

#include <string>

#include "run/record.h"

namespace corral::run {

// Values for rapidcheck's properties; to be called inside one. They live in a file of their own:
// generators cost more to compile than the tests that ask them.

std::string any_bytes();
// Text that JSON or a terminal could stumble over, all of it valid UTF-8.
std::string any_text();
RunId any_run_id();
Invocation any_invocation();
Report any_report();
Record any_record();
Ending any_ending();

}  // namespace corral::run
