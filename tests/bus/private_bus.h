#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/child.h"
#include "harness/temp_dir.h"

namespace corral::bus {

// A dbus-daemon of the test's own, in a directory that only it may enter.
class PrivateBus {
 public:
  PrivateBus();
  const std::string& address() const { return address_; }
  // Ends it: every connection is lost.
  void kill() { daemon_.reset(); }

 private:
  harness::TempDir directory_;
  std::string address_;
  std::optional<harness::Child> daemon_;
};

}  // namespace corral::bus
