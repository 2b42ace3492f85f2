#include "cli/message_json.h"

#include <sdbus-c++/sdbus-c++.h>

#include <nlohmann/json.hpp>
#include <string>

namespace corral::cli {
namespace {

using nlohmann::json;

template <typename T>
json take(sdbus::Message& message) {
  T value{};
  message >> value;
  return value;
}

// peekType() of a message whose container is at its end gives no type.
bool at_end(sdbus::Message& message) {
  std::string type, contents;
  message.peekType(type, contents);
  return type.empty() || type[0] == '\0';
}

json take_dictionary(sdbus::Message& message, const std::string& contents) {
  json object = json::object();
  const std::string entry = contents.substr(1, contents.size() - 2);  // without the braces
  message.enterContainer(contents);
  while (!at_end(message)) {
    message.enterDictEntry(entry);
    const json key = take_json(message);
    object[key.is_string() ? key.get<std::string>() : key.dump()] = take_json(message);
    message.exitDictEntry();
  }
  message.clearFlags();
  message.exitContainer();
  return object;
}

json take_array(sdbus::Message& message, const std::string& contents) {
  json array = json::array();
  message.enterContainer(contents);
  while (!at_end(message)) array.push_back(take_json(message));
  message.clearFlags();
  message.exitContainer();
  return array;
}

json take_struct(sdbus::Message& message, const std::string& contents) {
  json array = json::array();
  message.enterStruct(contents);
  while (!at_end(message)) array.push_back(take_json(message));
  message.clearFlags();
  message.exitStruct();
  return array;
}

json take_variant(sdbus::Message& message, const std::string& contents) {
  message.enterVariant(contents);
  json value = take_json(message);
  message.exitVariant();
  return value;
}

}  // namespace

json take_json(sdbus::Message& message) {
  std::string type, contents;
  message.peekType(type, contents);
  switch (type.empty() ? '\0' : type[0]) {
    case 'b':
      return take<bool>(message);
    case 'y':
      return take<uint8_t>(message);
    case 'n':
      return take<int16_t>(message);
    case 'q':
      return take<uint16_t>(message);
    case 'i':
      return take<int32_t>(message);
    case 'u':
      return take<uint32_t>(message);
    case 'x':
      return take<int64_t>(message);
    case 't':
      return take<uint64_t>(message);
    case 'd':
      return take<double>(message);
    case 's':
      return take<std::string>(message);
    case 'o':
      return static_cast<std::string>(take<sdbus::ObjectPath>(message));
    case 'g':
      return static_cast<std::string>(take<sdbus::Signature>(message));
    case 'v':
      return take_variant(message, contents);
    case 'r':
      return take_struct(message, contents);
    case 'a':
      return contents.starts_with('{') ? take_dictionary(message, contents)
                                       : take_array(message, contents);
    default:
      throw sdbus::Error("org.freedesktop.DBus.Error.InvalidSignature",
                         "a reply of a type that has no JSON: \"" + type + "\"");
  }
}

}  // namespace corral::cli
