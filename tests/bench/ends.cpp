#include "bench/ends.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>

#include "cgroup/processes.h"
#include "harness/client.h"
#include "harness/must.h"

namespace corral::bench {
namespace {

using harness::must;

// Starts the tree, and returns when the whole of it stands.
harness::Started grow(harness::Client& client, const std::string& id, unsigned sleepers) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe2");
  const UniqueFd ready(ends[0]);
  UniqueFd output(ends[1]);
  auto started =
      must(client.start_run(id, {CORRAL_MISBEHAVE, "--stay", "setsid", std::to_string(sleepers)},
                            {{"StandardOutput", sdbus::Variant(sdbus::UnixFd(output.get()))}}));
  output.reset();
  pollfd readable{ready.get(), POLLIN, 0};
  std::array<char, 16> word{};
  if (poll(&readable, 1, static_cast<int>(harness::kDeadline.count())) != 1 ||
      read(ready.get(), word.data(), word.size()) <= 0)
    throw std::runtime_error("the tree of " + id + " does not get ready");
  return started;
}

End end_run(harness::Stack& stack, const std::string& id, unsigned sleepers) {
  auto& client = stack.client();
  const auto run = grow(client, id, sleepers);
  const std::string work = stack.runs() + "/" + id + "." + run.invocation + "/work";
  End end;
  end.processes = must(cgroup::count(must(cgroup::Group::open(AT_FDCWD, work))));
  const auto begun = Clock::now();
  const auto report = client.end_run(id, {{"GraceUSec", uint64_t{0}}});
  end.took = Clock::now() - begun;
  must(report);
  return end;
}

void check(const char* whose, const End& end, unsigned sleepers) {
  if (end.processes == sleepers + 1) return;
  throw std::runtime_error(fmt::format("{}: {} processes before the kill, expected {} and a driver",
                                       whose, end.processes, sleepers));
}

}  // namespace

Pair measure_ends(harness::Stack& stack, BareProcess& bare, unsigned sleepers, Amount amount) {
  Pair pair{.what = fmt::format("end of {} processes", sleepers + 1), .bare = {}, .service = {}};
  const auto until = Clock::now() + amount.bound;
  for (unsigned i = 0; i < amount.pairs && (i == 0 || Clock::now() < until); ++i) {
    const End limit = bare.end(sleepers);
    check("bare", limit, sleepers);
    const End service = end_run(stack, fmt::format("end-{}-{}", sleepers, i), sleepers);
    check("service", service, sleepers);
    pair.bare.add(limit.took);
    pair.service.add(service.took);
  }
  return pair;
}

}  // namespace corral::bench
