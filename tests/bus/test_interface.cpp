#include <algorithm>
#include <fstream>
#include <sstream>

#include "bus/fixture.h"

namespace corral::bus {
namespace {

using Lines = std::vector<std::string>;

// The value of an attribute, given what stands between a tag's brackets.
std::string attribute(const std::string& tag, const std::string& name) {
  const std::string start = " " + name + "=\"";
  const size_t begin = tag.find(start);
  if (begin == std::string::npos) return "";
  const size_t value = begin + start.size();
  return tag.substr(value, tag.find('"', value) - value);
}

std::string without_comments(std::string xml) {
  for (size_t begin = xml.find("<!--"); begin != std::string::npos; begin = xml.find("<!--")) {
    xml.erase(begin, xml.find("-->", begin) + 3 - begin);
  }
  return xml;
}

// Adds a tag to what is known so far: a line for a member, and what belongs to it on the same line.
void add_tag(const std::string& kind, const std::string& tag, Lines& lines) {
  const std::string name = attribute(tag, "name");
  const std::string type = attribute(tag, "type");
  if (kind == "method" || kind == "signal" || kind == "property") {
    lines.push_back(kind + " " + name + " " + type + attribute(tag, "access"));
  } else if (kind == "arg") {
    lines.back() += " " + attribute(tag, "direction") + ":" + name + ":" + type;
  } else if (kind == "annotation" && name.ends_with(".EmitsChangedSignal")) {
    // "true" is what the absence of the annotation means.
    const std::string value = attribute(tag, "value");
    if (value != "true") lines.back() += " " + value;
  }
}

// One line a member of the interface: kind, name, arguments with names and types, how a property
// says that it changes.
Lines members(const std::string& xml, const std::string& interface) {
  const std::string text = without_comments(xml);
  Lines lines;
  bool inside = false;
  for (size_t begin = text.find('<'); begin != std::string::npos;
       begin = text.find('<', begin + 1)) {
    const std::string tag = text.substr(begin + 1, text.find('>', begin) - begin - 1);
    const std::string kind = tag.substr(0, tag.find_first_of(" />"));
    if (kind == "interface") inside = attribute(tag, "name") == interface;
    if (inside) add_tag(kind, tag, lines);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

class Interface : public BusTest {
 protected:
  static Lines documented(const std::string& interface) {
    std::stringstream text;
    text << std::ifstream(std::string(CORRAL_XML) + "/" + interface + ".xml").rdbuf();
    return members(text.str(), interface);
  }
  Lines live(const std::string& path, const std::string& interface) {
    RawClient raw(bus_.address());
    sd_bus_message* reply = nullptr;
    EXPECT_GE(sd_bus_call_method(raw.bus(), dbus::kServiceName, path.c_str(),
                                 "org.freedesktop.DBus.Introspectable", "Introspect", nullptr,
                                 &reply, ""),
              0);
    const Message owner(reply);
    const char* text = "";
    sd_bus_message_read_basic(reply, 's', &text);
    return members(text, interface);
  }
};

TEST_F(Interface, TheManagerIsWhatItsXmlSays) {
  const auto said = documented("org.corral.Corral1.Manager");
  EXPECT_EQ(said.size(), 21u + 4u + 6u);
  EXPECT_EQ(live(dbus::kManagerPath, "org.corral.Corral1.Manager"), said);
}

TEST_F(Interface, ARunIsWhatItsXmlSays) {
  const auto said = documented("org.corral.Corral1.Run");
  EXPECT_EQ(said.size(), 3u + 39u);
  EXPECT_EQ(live(publish(sample_status()), "org.corral.Corral1.Run"), said);
}

TEST_F(Interface, TheComparisonSeesNamesTypesDirectionsAndAnnotations) {
  const std::string xml = R"(<interface name="a.B"><!-- <method name="No"/> -->
    <method name="M"><arg name="x" type="s" direction="in"/></method>
    <property name="P" type="u" access="read">
      <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="const"/>
    </property></interface>)";
  EXPECT_THAT(members(xml, "a.B"),
              testing::ElementsAre("method M  in:x:s", "property P uread const"));
  EXPECT_THAT(members(xml, "a.C"), testing::IsEmpty());
}

}  // namespace
}  // namespace corral::bus
