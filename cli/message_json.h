#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sdbus {
class Message;
}

namespace corral::cli {

// Takes the next complete value off the message as JSON, whatever its type: arrays and structs are
// arrays, dictionaries are objects (keys as text), a variant is what it holds. Throws sdbus::Error
// where the message is at its end or carries an fd.
nlohmann::json take_json(sdbus::Message& message);

}  // namespace corral::cli
