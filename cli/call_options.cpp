#include "cli/call_options.h"

#include <sdbus-c++/sdbus-c++.h>

namespace corral::cli {
namespace {

template <typename T>
void put(Dict& dict, const char* key, const std::optional<T>& value) {
  if (value) dict[key] = sdbus::Variant(*value);
}

void put(Dict& dict, const char* key, const std::optional<microseconds>& value) {
  if (value) dict[key] = sdbus::Variant(static_cast<uint64_t>(value->count()));
}

void put(Dict& dict, const char* key, const std::string& value) {
  if (!value.empty()) dict[key] = sdbus::Variant(value);
}

void put_limit(Dict& dict, const char* key, const std::optional<microseconds>& value) {
  if (value)
    dict[key] =
        sdbus::Variant(*value == kNoLimit ? UINT64_MAX : static_cast<uint64_t>(value->count()));
}

}  // namespace

Dict options_of(const RunRef& run) {
  Dict dict;
  put(dict, "Invocation", run.invocation);
  return dict;
}

Dict options_of_opening(const StartRequest& request) {
  Dict dict;
  put(dict, "Owner", request.owner);
  put(dict, "Token", request.token);
  put(dict, "Description", request.description);
  if (!request.labels.empty()) dict["Labels"] = sdbus::Variant(request.labels);
  put(dict, "SettleUSec", request.settle);
  put(dict, "GraceUSec", request.grace);
  put(dict, "TermSignal", request.term_signal);
  put(dict, "OnDriverExit", request.on_driver_exit);
  put(dict, "Enforcement", request.enforcement);
  put(dict, "Parent", request.parent);
  if (!request.keep.empty()) dict["Keep"] = sdbus::Variant(request.keep);
  put_limit(dict, "RuntimeMaxUSec", request.runtime_max);
  put_limit(dict, "HoldMaxUSec", request.hold_max);
  return dict;
}

Dict options_of(const StartRequest& request) {
  Dict dict = options_of_opening(request);
  put(dict, "WorkingDirectory", request.working_directory);
  dict["Environment"] = sdbus::Variant(request.environment);
  put(dict, "StandardInput", request.input);
  put(dict, "StandardOutput", request.output);
  put(dict, "StandardError", request.error);
  return dict;
}

Dict options_of(const EndRequest& request) {
  Dict dict = options_of(request.run);
  put(dict, "GraceUSec", request.grace);
  put(dict, "Reason", request.reason);
  if (request.no_block) dict["NoBlock"] = sdbus::Variant(true);
  if (request.allow_self) dict["AllowSelf"] = sdbus::Variant(true);
  return dict;
}

Dict options_of(const EndsRequest& request) {
  Dict dict;
  put(dict, "Owner", request.owner);
  put(dict, "State", request.state);
  put(dict, "Label", request.label);
  put(dict, "OlderThanUSec", request.older_than);
  put(dict, "GraceUSec", request.grace);
  put(dict, "Reason", request.reason);
  if (request.dry_run) dict["DryRun"] = sdbus::Variant(true);
  return dict;
}

Dict options_of(const RunRef& run, const SetRequest& request) {
  Dict dict = options_of(run);
  put(dict, "Owner", request.owner);
  put(dict, "Description", request.description);
  put(dict, "Enforcement", request.enforcement);
  if (!request.labels.empty()) dict["Labels"] = sdbus::Variant(request.labels);
  put_limit(dict, "RuntimeMaxUSec", request.runtime_max);
  return dict;
}

Dict options_of(const RunFilter& filter) {
  Dict dict;
  put(dict, "Owner", filter.owner);
  put(dict, "State", filter.state);
  put(dict, "Label", filter.label);
  if (filter.all) dict["All"] = sdbus::Variant(true);
  return dict;
}

Dict options_of(const ProcessFilter& filter, uint64_t offset, uint64_t limit) {
  Dict dict;
  put(dict, "Run", filter.run);
  put(dict, "Invocation", filter.invocation);
  put(dict, "Owner", filter.owner);
  put(dict, "Label", filter.label);
  if (filter.port) dict["Port"] = sdbus::Variant(uint32_t{*filter.port});
  dict["Offset"] = sdbus::Variant(offset);
  dict["Limit"] = sdbus::Variant(limit);
  return dict;
}

}  // namespace corral::cli
