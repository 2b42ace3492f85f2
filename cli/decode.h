#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "run/report.h"
#include "run/status.h"

namespace corral::cli {

// What the service said, as the values it was made of. An Error names the field that is wrong: a
// service of another version.
Result<run::Report> report_of(const nlohmann::json& object);
Result<run::Status> status_of(const nlohmann::json& properties);

// Of a row of list_runs(), which has fewer of them.
Result<run::Status> listed_status_of(const nlohmann::json& row);

Result<std::vector<run::Process>> process_rows(const nlohmann::json& array);

}  // namespace corral::cli
