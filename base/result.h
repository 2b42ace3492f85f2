#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace corral::base {

// What could not be done: the action, the object and the reason, e.g.
// `write "12k" to r42/memory.max: Invalid argument`. `code` is the errno, 0 where there was none.
struct Error {
  std::string message;
  int code = 0;
};

// An Error whose message is `attempt` followed by the text of `code` (errno(3)).
Error failed(int code, std::string attempt);

// A value or the Error that kept us from it. For what can fail outside our control; a bug throws.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
  Result(Error error) : tl::expected<T, Error>(tl::unexpect, std::move(error)) {}
};

}  // namespace corral::base

namespace corral {
using base::Error;
using base::failed;
using base::Result;
}  // namespace corral
