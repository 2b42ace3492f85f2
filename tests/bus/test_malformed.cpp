#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>

#include "bus/fixture.h"

namespace corral::bus {
namespace {

constexpr int kCalls = 1'000;

// Methods with the signature they have, and words that mean something to them.
constexpr std::pair<const char*, const char*> kMethods[] = {
    {"StartRun", "sasa{sv}"}, {"EndRun", "sa{sv}"},      {"WaitRun", "sa{sv}"},
    {"GetReport", "sa{sv}"},  {"SignalRun", "ssia{sv}"}, {"GetRun", "s"},
    {"GetRunByPID", "u"},     {"ListRuns", "a{sv}"},     {"ListProcesses", "a{sv}"},
    {"ListLeaks", "a{sv}"},   {"ForgetRun", "sa{sv}"},   {"Nonsense", "s"}};
constexpr const char* kWords[] = {"Owner",
                                  "Token",
                                  "Labels",
                                  "Environment",
                                  "StandardInput",
                                  "StandardOutput",
                                  "Until",
                                  "GraceUSec",
                                  "Invocation",
                                  "State",
                                  "Port",
                                  "Limit",
                                  "All",
                                  "r1",
                                  "null",
                                  "append:/x",
                                  "kill",
                                  "",
                                  "driver",
                                  "ended",
                                  "0123456789abcdef0123456789abcdef",
                                  "a\nb",
                                  "ä",
                                  "key=value"};
constexpr const char* kTypes[] = {
    "s", "u", "i",  "t",     "x",  "y",     "n",     "q",      "b",  "d",      "o",        "g",
    "v", "h", "as", "a{sv}", "au", "a{ss}", "(sus)", "aa{sv}", "av", "a(suv)", "a{ia{ss}}"};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  size_t below(size_t limit) { return engine_() % limit; }
  template <typename T, size_t N>
  const T& one_of(const T (&values)[N]) {
    return values[below(N)];
  }
  std::string word() {
    if (below(20) == 0) return std::string(below(5'000), 'x');
    return one_of(kWords);
  }

  // Appends one complete type, of the signature that begins at `type`; returns where the next is.
  const char* append(sd_bus_message* message, const char* type, int depth);
  void append_all(sd_bus_message* message, const char* signature, int depth) {
    for (const char* next = signature; *next != '\0';) next = append(message, next, depth);
  }

 private:
  void append_basic(sd_bus_message* message, char type);
  std::mt19937 engine_;
};

// Where the complete type that begins at `type` ends.
const char* end_of(const char* type) {
  if (*type == 'a') return end_of(type + 1);
  if (*type != '(' && *type != '{') return type + 1;
  int open = 0;
  do {
    open += (*type == '(' || *type == '{') - (*type == ')' || *type == '}');
    ++type;
  } while (open > 0);
  return type;
}

void Random::append_basic(sd_bus_message* message, char type) {
  if (type == 's') {
    sd_bus_message_append_basic(message, type, word().c_str());
  } else if (type == 'o') {
    sd_bus_message_append_basic(message, type, "/a/b");
  } else if (type == 'g') {
    sd_bus_message_append_basic(message, type, "a{sv}");
  } else if (type == 'h' || type == 'b') {
    const int zero_or_one = static_cast<int>(below(2));
    sd_bus_message_append_basic(message, type, &zero_or_one);
  } else {
    const uint64_t bits = below(3) == 0 ? below(100) : (uint64_t{engine_()} << 32 | engine_());
    sd_bus_message_append_basic(message, type, &bits);
  }
}

const char* Random::append(sd_bus_message* message, const char* type, int depth) {
  const char* end = end_of(type);
  const auto length = end - type - (*type == 'a' ? 1 : 2);
  const std::string inside(type + 1, static_cast<size_t>(std::max<ptrdiff_t>(length, 0)));
  if (*type == 'a') {
    sd_bus_message_open_container(message, 'a', inside.c_str());
    for (size_t left = depth > 3 ? 0 : below(4); left > 0; --left) {
      append(message, inside.c_str(), depth + 1);
    }
  } else if (*type == 'v') {
    const char* of = depth > 3 ? "u" : one_of(kTypes);
    sd_bus_message_open_container(message, 'v', of);
    append_all(message, of, depth + 1);
  } else if (*type == '(' || *type == '{') {
    sd_bus_message_open_container(message, *type == '(' ? 'r' : 'e', inside.c_str());
    append_all(message, inside.c_str(), depth + 1);
  } else {
    append_basic(message, *type);
    return end;
  }
  sd_bus_message_close_container(message);
  return end;
}

using Malformed = BusTest;

TEST_F(Malformed, AThousandRandomCallsLeaveTheServiceAsItWas) {
  const char* chosen = getenv("CORRAL_SEED");
  const unsigned seed = chosen != nullptr ? static_cast<unsigned>(strtoul(chosen, nullptr, 10))
                                          : std::random_device{}();
  SCOPED_TRACE("CORRAL_SEED=" + std::to_string(seed));
  std::cout << "CORRAL_SEED=" << seed << "\n";
  Random random(seed);
  RawClient raw(bus_.address());
  std::map<std::string, int> outcomes;
  for (int i = 0; i < kCalls; ++i) {
    const auto& [member, signature] = random.one_of(kMethods);
    const auto message = raw.method(member);
    if (random.below(3) > 0) {
      random.append_all(message.get(), signature, 0);
    } else {
      for (size_t left = random.below(4); left > 0; --left) {
        random.append_all(message.get(), random.one_of(kTypes), 0);
      }
    }
    const auto outcome = raw.call(message);
    ++outcomes[outcome];
    ASSERT_NE(outcome, "lost");
    ASSERT_THAT(outcome, testing::Not(testing::HasSubstr("NoReply"))) << member;
    ASSERT_THAT(outcome, testing::Not(testing::HasSubstr("Failed"))) << raw.last_message();
  }
  EXPECT_GT(outcomes["ok"], 0);
  EXPECT_GT(outcomes["org.freedesktop.DBus.Error.InvalidArgs"], 0);
  EXPECT_EQ(must(client_.get_run("r1")).id, "r1");
  EXPECT_EQ(service_.lost(), 0);
}

}  // namespace
}  // namespace corral::bus
