#pragma once

#include <optional>
#include <string_view>

namespace corral::run {

// The words of the interface. Each enumerator is the string on the wire, with '_' for '-'.

// Where a run is in its life. `ended` is said only after the kernel said that nothing is left.
enum class State { starting, running, ending, ended };

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

// Why the run ended; `none` ("" on the wire): it has not. `reboot`: its boot is over. `lost`: its
// directory vanished.
enum class EndReason { none, driver_exited, requested, lease_lost, parent_ended, reboot, lost };

// What the ending of a run meant for one of its processes. term: went after SIGTERM; kill: had to
// be killed; exited: went by itself; left: not touched so far; stuck: killed and still there;
// escaped: sits outside its run.
enum class Outcome { left, exited, term, kill, stuck, escaped };

// How a process had taken itself out of its driver's session, group or parentage; the first that
// holds.
enum class Detached { own_session, own_group, orphaned, no };

// How strongly a run is contained: enforced (its uid cannot write cgroup.procs of the common
// ancestor) or cooperative (it could: accidents are contained, intent is not).
enum class Containment { enforced, cooperative };

// What becomes of leaks.
enum class OnDriverExit { kill };

std::string_view word(State value);
std::string_view word(DriverExit value);
std::string_view word(RunResult value);
std::string_view word(EndReason value);
std::string_view word(Outcome value);
std::string_view word(Detached value);
std::string_view word(Containment value);
std::string_view word(OnDriverExit value);

// The enumerator that `text` names; nullopt where none does.
template <typename Enum>
std::optional<Enum> parse_word(std::string_view text);

}  // namespace corral::run
