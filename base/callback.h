#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace corral::base {

template <typename Signature>
class Callback;

// A function that may own what cannot be copied (std::function cannot; std::move_only_function is
// C++23). Call it only while it holds one.
template <typename Return, typename... Args>
class Callback<Return(Args...)> {
 public:
  Callback() = default;
  template <typename F>
  requires(!std::same_as<std::remove_cvref_t<F>, Callback> && std::invocable<F&, Args...>)
      Callback(F function)
      : target_(std::make_unique<Target<F>>(std::move(function))) {}

  explicit operator bool() const { return target_ != nullptr; }
  Return operator()(Args... args) { return target_->call(std::forward<Args>(args)...); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual Return call(Args... args) = 0;
  };
  template <typename F>
  struct Target final : Base {
    explicit Target(F f) : function(std::move(f)) {}
    Return call(Args... args) override {
      return static_cast<Return>(function(std::forward<Args>(args)...));
    }
    F function;
  };
  std::unique_ptr<Base> target_;
};

}  // namespace corral::base
