#include <optional>

#include "run/json_fields.h"
#include "run/record.h"

namespace corral::run {
namespace {

// One list of fields for both ways: F is a FieldReader or a FieldWriter.
template <typename S, typename F>
void visit(S& status, F& f) {
  f.version("Version");
  f("Token", status.report.token);
  each_field(status.report, f);
  f("Description", status.description);
  f("Labels", status.labels);
  each_policy(status.policy, f);
  f("TermSignal", status.policy.term_signal);
  f("ControlGroupId", status.control_group_id);
}

}  // namespace

std::string to_json(const Status& status) {
  return write_fields([&](FieldWriter& writer) {
    visit(status, writer);
    if (status.parent)
      writer("Parent", directory_name(status.parent->id, status.parent->invocation));
  });
}

Result<Status> parse_status(std::string_view json) {
  Status status;
  std::optional<std::string> parent;
  auto read = read_fields("report", json, [&](FieldReader& reader) {
    visit(status, reader);
    reader("Parent", parent);
    // A report is found by these two: what could not be asked for is not ours.
    if (!RunId::parse(status.report.id)) reader.fail("Id", "no run id");
    if (!Invocation::parse(status.report.invocation)) reader.fail("Invocation", "no invocation");
    if (parent) status.parent = parse_directory_name(*parent);
    if (parent && !status.parent) reader.fail("Parent", "names no run");
  });
  if (!read) return read.error();
  return status;
}

}  // namespace corral::run
