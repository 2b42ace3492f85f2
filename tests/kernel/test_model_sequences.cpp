#include <sys/prctl.h>

#include <cstdlib>
#include <iostream>

#include "model_sequence.h"

namespace corral::test {
namespace {

constexpr uint64_t kBatches = 10;
constexpr uint64_t kSequences = 200;  // in all batches

uint64_t setting(const char* name, uint64_t standard) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : standard;
}

// Random acts on the whole service against a model of it. CORRAL_MODEL_SEED repeats the sequence
// that a failure names, CORRAL_MODEL_SEQUENCES says how many there are.
class Model : public testing::TestWithParam<uint64_t> {
 protected:
  // Orphans of killed supervisors are for the test to reap: not every pid 1 does.
  Model() { EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  ~Model() override { EXPECT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0); }
};

TEST_P(Model, HoldsWhateverIsDone) {
  const bool repeats = std::getenv("CORRAL_MODEL_SEED") != nullptr;
  if (repeats && GetParam() > 0) return;  // the first batch does
  const uint64_t first = setting("CORRAL_MODEL_SEED", std::random_device{}());
  const uint64_t all = setting("CORRAL_MODEL_SEQUENCES", repeats ? 1 : kSequences);
  const uint64_t count = repeats ? all : (all + kBatches - 1 - GetParam()) / kBatches;
  std::chrono::microseconds slowest{0};
  harness::Stack stack;
  for (uint64_t number = 0; number < count && !HasFailure(); ++number) {
    ModelSequence sequence(stack, first + number);
    try {
      sequence.run();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    slowest = std::max(slowest, sequence.slowest());
    if (HasFailure())
      std::cerr << "CORRAL_MODEL_SEED=" << first + number << " was\n" << sequence.transcript();
  }
  if (HasFailure()) stack.allow_leftovers();
  RecordProperty("SlowestAnswerUSec", static_cast<int>(slowest.count()));
}

INSTANTIATE_TEST_SUITE_P(Batch, Model, testing::Range(uint64_t{0}, kBatches));

}  // namespace
}  // namespace corral::test
