#include "daemon/survey.h"

#include "base/log.h"

namespace corral::daemon {
namespace {

// About a millisecond's reading.
constexpr size_t kProcessesPerTurn = 32;

}  // namespace

Survey::Request& Survey::Request::operator=(Request&& other) noexcept {
  std::swap(survey_, other.survey_);
  std::swap(number_, other.number_);
  return *this;
}

void Survey::Request::reset() {
  if (survey_ != nullptr) std::exchange(survey_, nullptr)->withdraw(number_);
}

Survey::Request Survey::ask(Look look) {
  waiting_.push_back({.number = ++last_number_, .look = std::move(look)});
  if (!turn_) turn_ = loop_.soon([this] { turn(); });
  return {*this, last_number_};
}

// The one whose look is being called goes when that has returned.
void Survey::withdraw(uint64_t number) {
  for (auto* list : {&waiting_, &served_}) {
    std::erase_if(*list, [&](Asked& asked) {
      asked.done = asked.done || asked.number == number;
      return asked.done && &asked != current_;
    });
  }
}

void Survey::turn() {
  turn_ = loop_.soon([this] { turn(); });  // first: a look may throw
  if (served_.empty()) {
    begin();
  } else if (!read_) {
    read_ = pass_->step(kProcessesPerTurn);
  } else {
    serve();
  }
  if (served_.empty()) pass_.reset();
  if (served_.empty() && waiting_.empty()) turn_.reset();
}

void Survey::begin() {
  auto pass = cgroup::Kinship::open();
  served_.swap(waiting_);
  read_ = !pass.has_value();
  if (pass) {
    pass_.emplace(std::move(*pass));
  } else {
    log(Level::warning, "look at all processes: {}", pass.error().message);
  }
}

void Survey::serve() {
  Asked& asked = served_.front();
  struct Served {
    Survey& survey;
    ~Served() {
      survey.current_ = nullptr;
      std::erase_if(survey.served_, [](const Asked& one) { return one.done; });
    }
  } const served{*this};
  current_ = &asked;
  // One that throws is asked no more.
  struct Done {
    bool& flag;
    bool again = false;
    ~Done() { flag = flag || !again; }
  } done{asked.done};
  done.again = !asked.look(pass_ ? &*pass_ : nullptr) && pass_.has_value();
}

}  // namespace corral::daemon
