#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace corral::fuzz {

// Makes texts that are nearly right, out of right ones. The same seed makes the same texts.
class Mutator {
 public:
  Mutator(std::vector<std::string> samples, uint64_t seed)
      : samples_(std::move(samples)), random_(seed) {}

  std::string next();

 private:
  size_t below(size_t bound);  // 0 where bound is 0
  const std::string& any_sample() { return samples_[below(samples_.size())]; }
  std::string random_bytes();
  void mutate(std::string& text);

  std::vector<std::string> samples_;
  std::mt19937_64 random_;
};

}  // namespace corral::fuzz
