#pragma once

#include <stdexcept>
#include <utility>

#include "base/result.h"

namespace corral::harness {

// The value, or an exception with the error's message, which fails the test that is running.
template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

}  // namespace corral::harness
