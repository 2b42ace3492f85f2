#include "fuzz.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>

#include "base/escape.h"
#include "base/parse.h"
#include "mutator.h"

namespace corral::fuzz {
namespace {

constexpr uint64_t kDefaultSeconds = 1;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? base::number<uint64_t>(text).value_or(otherwise) : otherwise;
}

// Calls `accepts` with a copy that ends where its memory ends: AddressSanitizer sees a byte too
// far.
bool feed(const std::function<bool(std::string_view)>& accepts, const std::string& text) {
  const auto copy = std::make_unique<char[]>(text.size());
  text.copy(copy.get(), text.size());
  try {
    return accepts({copy.get(), text.size()});
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw: " << error.what();
    return false;
  }
}

}  // namespace

void fuzz(const std::vector<std::string>& samples,
          const std::function<bool(std::string_view)>& accepts) {
  const uint64_t seed = from_environment("CORRAL_FUZZ_SEED", std::random_device()());
  // At once, because a crash leaves no time for it.
  (void)std::fputs(fmt::format("CORRAL_FUZZ_SEED={}\n", seed).c_str(), stderr);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds{from_environment("CORRAL_FUZZ_SECONDS", kDefaultSeconds)};

  for (const std::string& sample : samples)
    EXPECT_TRUE(feed(accepts, sample)) << "a good sample: " << base::escape(sample);
  Mutator mutator(samples, seed);
  uint64_t fed = 0;
  uint64_t taken = 0;
  while (!testing::Test::HasFailure() && std::chrono::steady_clock::now() < end) {
    const std::string text = mutator.next();
    if (feed(accepts, text)) ++taken;
    ++fed;
    if (testing::Test::HasFailure())
      ADD_FAILURE() << "text " << fed << " of CORRAL_FUZZ_SEED=" << seed << ", escaped: \""
                    << base::escape(text) << '"';
  }
  testing::Test::RecordProperty("texts", fmt::format("{} fed, {} taken", fed, taken));
}

bool is_clean(std::string_view text) {
  if (!base::is_utf8(text)) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return false;
    if (byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;  // C1
  }
  return true;
}

}  // namespace corral::fuzz
