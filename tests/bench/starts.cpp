#include "bench/starts.h"

#include <string>

#include "harness/client.h"
#include "harness/must.h"

namespace corral::bench {
namespace {

// The first ones fill caches: of the kernel's names, the bus library, the caller's identity.
constexpr unsigned kWarmUps = 10;

Duration start_run(harness::Client& client, const std::string& id) {
  const auto begun = Clock::now();
  const auto started = client.start_run(id, {CORRAL_BENCH_DRIVER});
  const auto took = Clock::now() - begun;
  must(started);
  must(client.end_run(id, {{"GraceUSec", uint64_t{0}}}));
  return took;
}

}  // namespace

Pair measure_starts(harness::Stack& stack, BareProcess& bare, Amount amount) {
  Pair pair{.what = "start to executed", .bare = {}, .service = {}};
  auto& client = stack.client();
  const auto until = Clock::now() + amount.bound;
  for (unsigned i = 0; i < kWarmUps + amount.pairs && Clock::now() < until; ++i) {
    const Duration limit = bare.start();
    const Duration service = start_run(client, "start-" + std::to_string(i));
    if (i < kWarmUps) continue;
    pair.bare.add(limit);
    pair.service.add(service);
  }
  return pair;
}

}  // namespace corral::bench
