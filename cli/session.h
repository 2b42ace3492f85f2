#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/output.h"
#include "cli/service.h"

namespace corral::cli {

// What a command works with.
struct Session {
  const Arguments& arguments;
  const Output& output;
  Service& service;
};

// Says on standard error what could not be done ("corralctl: end r42: …") and gives the exit status
// for it. A service that is not there is named with its remedy.
int fail(const Arguments& arguments, std::string_view object, const CallError& error);
int fail(const Arguments& arguments, std::string_view object, const Error& error);

// Prints and gives kSuccess, or the status for output that could not be written.
int print(const Arguments& arguments, std::string_view text);
// In the style of --json, with a newline.
int print_json(const Arguments& arguments, const nlohmann::json& value);
std::string json_text(const nlohmann::json& value, JsonStyle style);

// The status of a command that fails for reasons of its own: kFailure, or kOwnFailure where the
// driver's status is passed on.
int own_failure(Command command);

}  // namespace corral::cli
