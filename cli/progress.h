#pragma once

#include <chrono>
#include <string>

#include "cli/output.h"
#include "cli/service.h"

namespace corral::cli {

// A line on standard error while something takes longer than a second ("ending r42: 3 processes
// left, 2.1s"), drawn over itself and erased at the end. Nothing where that is no terminal.
// The service calls it while it waits, and outlives it.
class Progress {
 public:
  // `path` is the run's object, whose processes are counted.
  Progress(Service& service, const Output& output, std::string id, std::string path);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

 private:
  void draw();

  Service& service_;
  const bool active_;
  const size_t width_;
  const std::string id_, path_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  bool drawn_ = false;
};

}  // namespace corral::cli
