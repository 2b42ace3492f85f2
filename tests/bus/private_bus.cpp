#include "bus/private_bus.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "base/unique_fd.h"
#include "harness/eventually.h"

namespace corral::bus {
namespace {

// As the system bus, but for 300 connections of one uid.
constexpr const char* kConfig = R"(<busconfig>
  <type>custom</type>
  <listen>unix:path=@</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
    <allow user="*"/>
  </policy>
  <limit name="max_connections_per_user">1000</limit>
</busconfig>
)";

}  // namespace

PrivateBus::PrivateBus() : address_("unix:path=" + directory_ / "bus") {
  std::string config = kConfig;
  config.replace(config.find('@'), 1, directory_ / "bus");
  std::ofstream(directory_ / "bus.conf") << config;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  const UniqueFd ready{ends[0]};
  UniqueFd announce{ends[1]};
  daemon_.emplace(harness::Command{
      .argv = {"dbus-daemon", "--nofork", "--config-file=" + directory_ / "bus.conf",
               "--print-address=" + std::to_string(announce.get())},
      .environment = {},
      .log = "",
      .inherit = announce.get()});
  announce.reset();
  pollfd readable{ready.get(), POLLIN, 0};
  char byte = 0;
  if (poll(&readable, 1, static_cast<int>(harness::kDeadline.count())) != 1 ||
      read(ready.get(), &byte, 1) != 1) {
    throw std::runtime_error("dbus-daemon does not start");
  }
}

}  // namespace corral::bus
