#include "base/result.h"

#include <system_error>

namespace corral::base {

Error failed(int code, std::string attempt) {
  attempt += ": ";
  attempt += std::generic_category().message(code);  // strerror(3) is not thread-safe
  return {std::move(attempt), code};
}

}  // namespace corral::base
