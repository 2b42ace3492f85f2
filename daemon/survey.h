#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "base/callback.h"
#include "cgroup/kinship.h"
#include "daemon/loop.h"

namespace corral::daemon {

// Looks at every process of the system, a few in each turn of the loop. All who asked before a pass
// began share it: a hundred runs that end at once cost two.
class Survey {
 public:
  // What is done with a pass that is complete, a part in each call, until it returns true. nullptr:
  // /proc could not be read; there is no other call then.
  using Look = base::Callback<bool(cgroup::Kinship* pass)>;

  // Takes the request back where it goes before it was answered; safe inside its own look.
  class Request {
   public:
    Request() = default;
    Request(Request&& other) noexcept { *this = std::move(other); }
    Request& operator=(Request&& other) noexcept;
    ~Request() { reset(); }
    void reset();

   private:
    friend class Survey;
    Request(Survey& survey, uint64_t number) : survey_(&survey), number_(number) {}
    Survey* survey_ = nullptr;
    uint64_t number_ = 0;
  };

  explicit Survey(Loop& loop) : loop_(loop) {}

  // Answered with a pass that begins after this call, never from inside of it. The request must not
  // outlive the survey.
  Request ask(Look look);

 private:
  struct Asked {
    uint64_t number;
    Look look;
    bool done = false;
  };
  void turn();
  void begin();
  void serve();
  void withdraw(uint64_t number);

  Loop& loop_;
  std::list<Asked> waiting_, served_;
  const Asked* current_ = nullptr;  // whose look is being called
  uint64_t last_number_ = 0;
  std::optional<cgroup::Kinship> pass_;
  bool read_ = false;  // the pass is complete
  Source turn_;
};

}  // namespace corral::daemon
