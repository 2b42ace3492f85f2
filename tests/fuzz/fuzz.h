#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace corral::fuzz {

// Feeds `accepts` with the samples, with mutations of them and with random bytes, for a second or
// as many as CORRAL_FUZZ_SECONDS says. `accepts` says whether the parser took the text, and checks
// with EXPECT_… what must hold then; it has to take every sample. The first failure or exception
// ends it and fails the test with the text and the seed; CORRAL_FUZZ_SEED brings the same texts in
// the same order again, for crashes too.
void fuzz(const std::vector<std::string>& samples,
          const std::function<bool(std::string_view)>& accepts);

// Whether `text` may go on the bus and a terminal as it is: valid UTF-8 without control characters.
bool is_clean(std::string_view text);

}  // namespace corral::fuzz
