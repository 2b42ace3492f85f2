#include "run/json_fields.h"
#include "run/record.h"

namespace corral::run {

std::string to_json(const Report& report) {
  return write_fields([&](FieldWriter& writer) {
    writer.version("Version");
    writer("Token", report.token);
    each_field(report, writer);
  });
}

Result<Report> parse_report(std::string_view json) {
  Report report;
  auto read = read_fields("report", json, [&](FieldReader& reader) {
    reader.version("Version");
    reader("Token", report.token);
    each_field(report, reader);
    // A report is found by these two: what could not be asked for is not ours.
    if (!RunId::parse(report.id)) reader.fail("Id", "no run id");
    if (!Invocation::parse(report.invocation)) reader.fail("Invocation", "no invocation");
  });
  if (!read) return read.error();
  return report;
}

}  // namespace corral::run
