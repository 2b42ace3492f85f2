#include "cli/progress.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/human.h"
#include "cli/printable.h"

namespace corral::cli {
namespace {

constexpr std::chrono::milliseconds kPeriod{200};
constexpr std::chrono::seconds kPatience{1};

}  // namespace

Progress::Progress(Service& service, const Output& output, std::string id, std::string path)
    : service_(service),
      active_(output.error_terminal && !path.empty()),
      width_(output.error.width),
      id_(std::move(id)),
      path_(std::move(path)) {
  if (active_) service_.every(kPeriod, [this] { draw(); });
}

Progress::~Progress() {
  if (!active_) return;
  service_.every(kPeriod, {});
  if (drawn_) write_error("\r\033[K");
}

void Progress::draw() {
  const auto taken = std::chrono::steady_clock::now() - begin_;
  if (taken < kPatience) return;
  const auto left = service_.property(path_, "Descendants");
  const std::string count =
      left && left->is_number_unsigned()
          ? count_text(left->get<uint64_t>(), "process", "processes") + " left, "
          : "";
  const std::string line = fmt::format("ending {}: {}{}", printable(id_), count,
                                       span_text(std::chrono::duration_cast<microseconds>(taken)));
  // One column is left free: a full line would wrap and could not be erased.
  write_error("\r\033[K" + fitted(line, width_ > 1 ? width_ - 1 : 1));
  drawn_ = true;
}

}  // namespace corral::cli
