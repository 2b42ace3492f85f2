#include <gtest/gtest.h>
#include <sdbus-c++/sdbus-c++.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/message_json.h"

namespace corral::cli {
namespace {

using nlohmann::json;
using Dict = std::map<std::string, sdbus::Variant>;

template <typename T>
json through_a_message(const T& value) {
  auto message = sdbus::createPlainMessage();
  message << value;
  message.seal();
  message.rewind(true);
  return take_json(message);
}

TEST(TakeJson, KeepsTheRangeOfEveryBasicType) {
  EXPECT_EQ(through_a_message(uint64_t{18446744073709551615U}), json(18446744073709551615U));
  EXPECT_EQ(through_a_message(int64_t{-5}), json(-5));
  EXPECT_EQ(through_a_message(int16_t{-5}), json(-5));
  EXPECT_EQ(through_a_message(uint8_t{255}), json(255));
  EXPECT_EQ(through_a_message(uint32_t{7}), json(7));
  EXPECT_EQ(through_a_message(true), json(true));
  EXPECT_EQ(through_a_message(1.5), json(1.5));
  EXPECT_EQ(through_a_message(std::string("ä")), json("ä"));
  EXPECT_EQ(through_a_message(sdbus::ObjectPath("/a")), json("/a"));
  EXPECT_EQ(through_a_message(sdbus::Signature("a{sv}")), json("a{sv}"));
}

TEST(TakeJson, MakesObjectsOfDictionariesWhateverTheyHold) {
  const Dict leak{{"PID", sdbus::Variant(uint32_t{1})},
                  {"Argv", sdbus::Variant(std::vector<std::string>{"a", "b"})}};
  const Dict report{{"Leaks", sdbus::Variant(std::vector<Dict>{leak})},
                    {"Labels", sdbus::Variant(std::map<std::string, std::string>{{"k", "v"}})},
                    {"Empty", sdbus::Variant(std::vector<Dict>{})}};
  EXPECT_EQ(through_a_message(report),
            json::parse(R"({"Leaks":[{"PID":1,"Argv":["a","b"]}],"Labels":{"k":"v"},"Empty":[]})"));
}

TEST(TakeJson, MakesArraysOfStructs) {
  using Row = sdbus::Struct<std::string, sdbus::ObjectPath, Dict>;
  const std::vector<Row> rows{Row{"a", sdbus::ObjectPath("/x"), Dict{}},
                              Row{"b", sdbus::ObjectPath("/y"), Dict{{"n", sdbus::Variant(1.0)}}}};
  EXPECT_EQ(through_a_message(rows), json::parse(R"([["a","/x",{}],["b","/y",{"n":1.0}]])"));
}

TEST(TakeJson, WritesKeysThatAreNoStringsAsText) {
  EXPECT_EQ(through_a_message(std::map<uint32_t, std::string>{{7, "x"}}),
            json::parse(R"({"7":"x"})"));
}

TEST(TakeJson, RefusesAMessageAtItsEnd) {
  auto message = sdbus::createPlainMessage();
  message.seal();
  message.rewind(true);
  EXPECT_THROW((void)take_json(message), sdbus::Error);
}

}  // namespace
}  // namespace corral::cli
