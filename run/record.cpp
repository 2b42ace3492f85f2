#include "run/record.h"

#include <csignal>
#include <type_traits>

#include "run/json_fields.h"

namespace corral::run {
namespace {

// One list of fields for both ways: F is a FieldReader or a FieldWriter.

template <typename R, typename F>
requires std::same_as<std::remove_const_t<R>, Record>
void visit(R& r, F& f) {
  f.version("version");
  f("id", r.id);
  f("invocation", r.invocation);
  f("owner", r.owner);
  f("owner_uid", r.owner_uid);
  f("token", r.token);
  f("description", r.description);
  f("labels", r.labels);
  f("on_driver_exit", r.policy.on_driver_exit);
  f("settle_usec", r.policy.settle);
  f("grace_usec", r.policy.grace);
  f("term_signal", r.policy.term_signal);
  f("runtime_max_usec", r.policy.runtime_max);
  f("hold_max_usec", r.policy.hold_max);
  f("lease_usec", r.policy.lease);
  f("enforcement", r.policy.enforcement);
  f("keep", r.policy.keep);
  f("kind", r.kind);
  f("boot_id", r.boot_id);
  f("cgroup_id", r.cgroup_id);
  f("start_realtime", r.start.realtime_usec);
  f("start_monotonic", r.start.monotonic_usec);
  f("containment", r.containment);
  f("opener_pid", r.opener.pid);
  f("opener_start", r.opener.start_time);
}

template <typename E, typename F>
requires std::same_as<std::remove_const_t<E>, Ending>
void visit(E& e, F& f) {
  f.version("version");
  f("reason", e.reason);
  f("message", e.message);
  f("ended_by", e.ended_by);
  f("asked", e.asked);
  f("holding", e.holding);
  f("all_asked", e.all_asked);
  f("began_realtime", e.began.realtime_usec);
  f("began_monotonic", e.began.monotonic_usec);
  f("kill_at_usec", e.kill_at_usec);
  f("hold_until_usec", e.hold_until_usec);
}

// What stands in a field that must hold an id until the text gave it one; never returned.
RunId no_id() {
  return *RunId::parse("none");
}
Invocation no_invocation() {
  return *Invocation::parse("00000000000000000000000000000000");
}

template <typename T>
std::string written(const T& value) {
  return write_fields([&](FieldWriter& writer) { visit(value, writer); });
}

void read_process(FieldReader& reader, std::string_view key, ProcessName& name) {
  reader.object(key, [&](FieldReader& inner) {
    inner("pid", name.pid);
    inner("start", name.start_time);
  });
}

}  // namespace

std::string to_json(const Record& record) {
  return write_fields([&](FieldWriter& writer) {
    visit(record, writer);
    if (const auto& from = record.spared_from)
      writer("spared_from", directory_name(from->id, from->invocation));
  });
}

Result<Record> parse_record(std::string_view json) {
  Record record{.id = no_id(),
                .invocation = no_invocation(),
                .owner = {},
                .token = {},
                .description = {},
                .labels = {},
                .policy = {},
                .boot_id = {},
                .start = {}};
  std::optional<std::string> spared_from;
  auto read = read_fields("record", json, [&](FieldReader& reader) {
    visit(record, reader);
    reader("spared_from", spared_from);
    if (spared_from) record.spared_from = parse_directory_name(*spared_from);
    if (spared_from && !record.spared_from) reader.fail("spared_from", "names no run");
    if (record.policy.term_signal < 1 || record.policy.term_signal > SIGRTMAX)
      reader.fail("term_signal", "not a signal");
  });
  if (!read) return read.error();
  return record;
}

std::string to_json(const Members& members) {
  const auto process = [](const ProcessName& name) {
    return [&name](FieldWriter& inner) {
      inner("pid", name.pid);
      inner("start", name.start_time);
    };
  };
  return write_fields([&](FieldWriter& writer) {
    writer.object("driver", process(members.driver));
    writer.object("supervisor", process(members.supervisor));
  });
}

Result<Members> parse_members(std::string_view json) {
  Members members;
  auto read = read_fields("members", json, [&](FieldReader& reader) {
    read_process(reader, "driver", members.driver);
    read_process(reader, "supervisor", members.supervisor);
  });
  if (!read) return read.error();
  return members;
}

std::string to_json(const Exit& exit) {
  return write_fields([&](FieldWriter& writer) {
    writer("exit", exit.exit);
    writer("status", exit.status);
    writer("realtime", exit.when.realtime_usec);
    writer("monotonic", exit.when.monotonic_usec);
  });
}

Result<Exit> parse_exit(std::string_view json) {
  constexpr int32_t kMostStatus = 255;  // an exit code has 8 bits, and no signal is as high
  Exit exit;
  auto read = read_fields("exit", json, [&](FieldReader& reader) {
    reader("exit", exit.exit);
    reader("status", exit.status);
    reader("realtime", exit.when.realtime_usec);
    reader("monotonic", exit.when.monotonic_usec);
    if (exit.exit == DriverExit::none || exit.exit == DriverExit::unknown)
      reader.fail("exit", "neither exited nor killed nor dumped");
    if (exit.status < 0 || exit.status > kMostStatus)
      reader.fail("status", "neither an exit code nor a signal");
  });
  if (!read) return read.error();
  return exit;
}

std::string to_json(const Ending& ending) {
  return written(ending);
}

Result<Ending> parse_ending(std::string_view json) {
  Ending ending;
  auto read = read_fields("ending", json, [&](FieldReader& reader) { visit(ending, reader); });
  if (!read) return read.error();
  return ending;
}

}  // namespace corral::run
