#include <csignal>

#include "cli/human.h"
#include "cli/options.h"
#include "dbus/requests.h"

namespace corral::cli {
namespace {

void define_end(CLI::App& app, Arguments& arguments, Raw& raw) {
  CLI::App& end = *app.add_subcommand("end", "End runs and wait until nothing is left of them");
  end.add_option("ID", arguments.names, "Runs")->type_name("");
  add_span(end, "--grace", arguments.grace, dbus::kLongestGrace,
           "Time between the first signal and the kill");
  end.add_option("--reason", arguments.reason, "For the report")->type_name("");
  add_invocation(end, arguments);
  end.add_flag("--no-block", arguments.no_block, "Return at once");
  end.add_flag("--allow-self", arguments.allow_self, "Also the run that this is in");
  end.add_flag("--all", raw.all, "Without ID: every live run");
  end.add_flag("--held", raw.held, "Without ID: those that are holding");
  add_span(end, "--older-than", arguments.ends.older_than, kNoLimit,
           "Without ID: those whose driver exited, or else started, that long ago");
  add_text(end, "--owner", arguments.ends.owner, "Without ID: those of this owner");
  add_text(end, "--label", arguments.ends.label, "Without ID: those with KEY or KEY=VALUE");
  end.add_flag("--dry-run", arguments.ends.dry_run, "Without ID: only list them");
}

// Ids or a choice, and what belongs to each.
void complete_end(Arguments& arguments, const Raw& raw) {
  EndsRequest& ends = arguments.ends;
  const bool narrowed = raw.held || ends.older_than || ends.owner || ends.label;
  const bool chosen = narrowed || raw.all;
  if (!arguments.names.empty() && (chosen || ends.dry_run))
    reject("ID",
           "--all, --held, --older-than, --owner, --label and --dry-run choose runs without one");
  if (arguments.names.empty() && !chosen)
    reject("end", "needs an ID, or one of --held, --older-than, --owner, --label and --all");
  if (raw.all && narrowed) reject("--all", "excludes --held, --older-than, --owner and --label");
  if (chosen && (arguments.no_block || arguments.allow_self || arguments.invocation))
    reject("end", "--no-block, --allow-self and --invocation need an ID");
  if (arguments.grace && *arguments.grace > dbus::kLongestEndGrace && !arguments.no_block)
    reject("--grace", fmt::format("must be a time span of at most {} where the end is waited for, "
                                  "and of at most {} with --no-block",
                                  base::exact_span(dbus::kLongestEndGrace),
                                  base::exact_span(dbus::kLongestGrace)));
  if (raw.held) ends.state = "holding";
  ends.grace = arguments.grace;
  ends.reason = arguments.reason;
}

}  // namespace

void define_acts(CLI::App& app, Arguments& arguments, Raw& raw) {
  define_end(app, arguments, raw);
  CLI::App& wait =
      add_named(app, "wait", "Wait until a run is over or held, and exit with its driver's status",
                "ID", arguments, false);
  add_choice(wait, "--until", arguments.until, {"driver", "settled", "ended"}, "How far");
  CLI::App& report = add_named(app, "report", "Show what came of a run", "ID", arguments, false);
  CLI::App& kill =
      add_named(app, "kill", "Send a signal to a run's processes", "ID", arguments, false);
  add_parsed(kill, "-s,--signal", arguments.signal, parse_signal, "a signal", "Default: TERM");
  kill.add_option("--whom", arguments.whom, "driver or all (default)")
      ->check(CLI::IsMember({"driver", "all"}))
      ->type_name("");
  CLI::App& forget =
      add_named(app, "forget", "Drop ended runs and their reports", "ID", arguments, true);
  for (CLI::App* command : {&wait, &report, &kill, &forget}) add_invocation(*command, arguments);
}

void complete_act(Arguments& arguments, const Raw& raw) {
  if (arguments.signal == 0) arguments.signal = SIGTERM;
  if (arguments.whom.empty()) arguments.whom = "all";
  if (arguments.command == Command::end) complete_end(arguments, raw);
}

}  // namespace corral::cli
