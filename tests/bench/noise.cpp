#include "bench/noise.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace corral::bench {
namespace {

// The total of the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"; 0 where the kernel keeps
// no such count.
std::chrono::microseconds cpu_pressure() {
  std::ifstream file("/proc/pressure/cpu");
  std::string word;
  while (file >> word) {
    if (word.starts_with("total=")) return std::chrono::microseconds(std::stoll(word.substr(6)));
  }
  return {};
}

}  // namespace

Noise::Noise() : begun_(Clock::now()), waited_(cpu_pressure()) {}

std::string Noise::describe(const Samples& bare) const {
  const auto waited = cpu_pressure() - waited_;
  const double share = std::chrono::duration<double>(waited) / (Clock::now() - begun_);
  const auto median = bare.percentile(50).count();
  const double spread =
      median == 0 ? 0
                  : static_cast<double>(bare.percentile(90).count()) / static_cast<double>(median);
  return fmt::format(
      "{} processors; tasks waited for one {:.0f} % of the time; bare p90/p50 {:.1f}",
      sysconf(_SC_NPROCESSORS_ONLN), 100 * share, spread);
}

}  // namespace corral::bench
