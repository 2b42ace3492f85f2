#pragma once

#include <optional>
#include <string_view>

namespace corral::run {

// The words of the interface. Each enumerator is the string on the wire, with '_' for '-'.

// Where a run is in its life. `holding`: its end left processes in place, and waits. `ended` is
// said only after the kernel said that nothing is left.
enum class State { starting, running, ending, holding, ended };

// How the driver went, as far as it was seen; `none` ("" on the wire): not yet. `unknown`: nobody
// saw it.
enum class DriverExit { none, exited, killed, dumped, unknown };

// The driver's outcome alone, in the words of systemd.service(5); `none` ("" on the wire): not yet.
enum class RunResult {
  none,
  success,
  exit_code,
  signal,
  core_dump,
  oom_kill,
  start_failed,
  unknown
};

// Why the run ended; `none` ("" on the wire): it has not. `deadline`: RuntimeMaxUSec was over.
// `reboot`: its boot is over. `lost`: its directory vanished.
enum class EndReason {
  none,
  driver_exited,
  requested,
  deadline,
  lease_lost,
  parent_ended,
  reboot,
  lost
};

// What the ending of a run meant for one of its processes. term: went after SIGTERM; kill: had to
// be killed; exited: went by itself; left: not touched so far; frozen: held in place; kept: moved
// to a run of its own; stuck: killed and still there; escaped: sits outside its run.
enum class Outcome { left, exited, term, kill, frozen, kept, stuck, escaped };

// How a process had taken itself out of its driver's session, group or parentage; the first that
// holds.
enum class Detached { own_session, own_group, orphaned, no };

// How strongly a run is contained: enforced (its uid cannot write cgroup.procs of the common
// ancestor), cooperative (it could: accidents are contained, intent is not) or adopted (its
// processes were moved in late, and what they forked before that may be elsewhere).
enum class Containment { enforced, cooperative, adopted };

// What becomes of leaks: killed; held frozen; held as they are.
enum class OnDriverExit { kill, freeze, report };

// Whether ends act: `observe` neither signals nor freezes, and reports what it would have met.
enum class Enforcement { enforce, observe };

// What a run is made of: a driver and its descendants, or processes that were kept when another run
// ended.
enum class Kind { driver, kept };

std::string_view word(State value);
std::string_view word(DriverExit value);
std::string_view word(RunResult value);
std::string_view word(EndReason value);
std::string_view word(Outcome value);
std::string_view word(Detached value);
std::string_view word(Containment value);
std::string_view word(OnDriverExit value);
std::string_view word(Enforcement value);
std::string_view word(Kind value);

// The enumerator that `text` names; nullopt where none does.
template <typename Enum>
std::optional<Enum> parse_word(std::string_view text);

}  // namespace corral::run
