#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "bench/samples.h"
#include "harness/child.h"

namespace corral::bench {

// How long an end took, and what it ended.
struct End {
  Duration took{};
  uint64_t processes = 0;  // counted before the kill
};

// bench_bare, which does the bare work in the cgroup `directory` when it is asked. Throws where it
// gives up.
class BareProcess {
 public:
  explicit BareProcess(const std::string& directory);

  // bare_start() and bare_end() of bare.h.
  Duration start() { return ask("start").took; }
  End end(unsigned sleepers) { return ask("end " + std::to_string(sleepers)); }

 private:
  End ask(const std::string& request);
  UniqueFd socket_;
  std::optional<harness::Child> child_;
};

}  // namespace corral::bench
