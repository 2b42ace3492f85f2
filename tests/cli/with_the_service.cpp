#include "cli/with_the_service.h"

#include <nlohmann/json.hpp>

namespace corral::cli {

nlohmann::json WithTheService::report() {
  return nlohmann::json::parse(slurp_file(temp() / "report"));
}

nlohmann::json WithTheService::served_report(const std::string& id) {
  const Ran ran = run_script("plain", command({"report", "--json=short", id}));
  return nlohmann::json::parse(ran.out, nullptr, false);
}

}  // namespace corral::cli
