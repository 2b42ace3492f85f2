#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dbus/calls.h"
#include "dbus/options.h"
#include "run/fault.h"
#include "run/spec.h"

namespace corral::dbus {

// Bounds of what a caller may ask for; docs/dbus-api.md names them.
inline constexpr std::chrono::hours kLongestSettle{1};
inline constexpr std::chrono::hours kLongestGrace{1};
inline constexpr std::chrono::seconds kLongestEndGrace{20};  // bus callers give up after 25 s
inline constexpr std::chrono::hours kLongestWait{1};
inline constexpr size_t kWordBytes = 64;
inline constexpr size_t kPids = 1024;  // pids of one call
inline constexpr size_t kReasonBytes = 256;
inline constexpr size_t kPathBytes = 4095;  // PATH_MAX less the NUL
inline constexpr uint64_t kRowsPerCall = 1000;

// The arguments of each method, checked for form. A Fault says which one is wrong and how.

// `defaults` is for what the options leave out.
run::Answer<run::Spec> start_request(const std::string& id, std::vector<std::string> argv,
                                     Dict dict, const run::Policy& defaults = {});

// As start_request(), for OpenRun: what concerns a driver of ours is unknown to it.
run::Answer<run::Spec> open_request(const std::string& id, Dict dict,
                                    const run::Policy& defaults = {});

// "exited", "killed" or "dumped", and a code or signal that goes with it.
run::Answer<run::DriverExit> exit_request(const std::string& exit, int32_t status);

struct EndRequest {
  RunRef ref;
  EndOptions options;
};
run::Answer<EndRequest> end_request(const std::string& id, Dict dict);

run::Answer<EndRunsOptions> end_runs_request(Dict dict);

struct SetRequest {
  RunRef ref;
  SetOptions options;
};
run::Answer<SetRequest> set_request(const std::string& id, Dict dict);

// As open_request(), for AdoptProcesses.
run::Answer<run::Spec> adopt_request(const std::string& id, const std::vector<uint32_t>& pids,
                                     Dict dict, const run::Policy& defaults);
run::Answer<std::vector<uint32_t>> release_request(std::vector<uint32_t> pids);
run::Answer<RunRef> lease_request(const std::string& id, const std::string& who,
                                  const std::string& why);
run::Answer<run::Enforcement> enforcement_request(const std::string& text);

struct WaitRequest {
  RunRef ref;
  WaitOptions options;
};
run::Answer<WaitRequest> wait_request(const std::string& id, Dict dict);

struct SignalRequest {
  RunRef ref;
  Whom whom;
  int signal;
};
run::Answer<SignalRequest> signal_request(const std::string& id, const std::string& whom,
                                          int32_t signal, Dict dict);

// For a method that takes an id and no option but Invocation.
run::Answer<RunRef> ref_request(const char* call, const std::string& id, Dict dict);

run::Answer<RunFilter> run_filter(Dict dict);
run::Answer<ProcessFilter> process_filter(const char* call, Dict dict);

// The id; an empty one where it breaks the rule, which `options` then refuses.
std::optional<run::RunId> read_id(Options& options, const std::string& id);
// Whether kill(2) would take it: 1 to 31 and the real-time signals that libc leaves to programs.
bool is_signal(int64_t number);
// nullopt where they were not given.
std::optional<std::map<std::string, std::string>> read_labels(Options& options);
// The id of a run, or "".
std::optional<std::string> read_parent(Options& options);

}  // namespace corral::dbus
