#include "cli/exit_status.h"

namespace corral::cli {

int status_of_driver(run::DriverExit exit, int32_t status) {
  switch (exit) {
    case run::DriverExit::exited:
      return status;
    case run::DriverExit::killed:
    case run::DriverExit::dumped:
      return 128 + status;
    case run::DriverExit::none:
    case run::DriverExit::unknown:
      return kOwnFailure;
  }
  return kOwnFailure;
}

}  // namespace corral::cli
