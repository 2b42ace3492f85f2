#pragma once

#include <gmock/gmock.h>

#include "bus/private_bus.h"
#include "bus/raw_client.h"
#include "bus/service.h"
#include "harness/client.h"
#include "harness/must.h"

namespace corral::bus {

using harness::Dict;
using harness::error_of;
using harness::must;
using harness::value;

// A bus, a service and a caller.
class BusTest : public testing::Test {
 protected:
  std::vector<std::string> calls_seen() {
    std::vector<std::string> seen;
    service_.on_loop([&] { seen = service_.calls.log; });
    return seen;
  }
  // A run's object; its path.
  std::string publish(run::Status status) {
    auto owned = std::make_unique<run::Status>(std::move(status));
    const auto& report = owned->report;
    const auto path = dbus::run_path(run::RunId::parse(report.id).value(),
                                     run::Invocation::parse(report.invocation).value());
    service_.on_loop([&] {
      service_.server().publish(*owned);
      service_.statuses.push_back(std::move(owned));
    });
    return path;
  }

  PrivateBus bus_;
  Service service_{bus_.address()};
  harness::Client client_{bus_.address()};
};

}  // namespace corral::bus
