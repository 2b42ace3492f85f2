#include <fstream>
#include <regex>
#include <sstream>

#include "bus/fixture.h"

namespace corral::bus {
namespace {

using Lines = std::vector<std::string>;

std::string attribute(const std::string& tag, const std::string& name) {
  std::smatch match;
  return std::regex_search(tag, match, std::regex("\\b" + name + "=\"([^\"]*)\"")) ? match[1].str()
                                                                                   : "";
}

std::string without_comments(std::string xml) {
  for (size_t begin = xml.find("<!--"); begin != std::string::npos; begin = xml.find("<!--")) {
    xml.erase(begin, xml.find("-->", begin) + 3 - begin);
  }
  return xml;
}

// One line a member of the interface: kind, name, arguments with names and types, how a property
// says that it changes.
Lines members(const std::string& xml, const std::string& interface) {
  const std::string text = without_comments(xml);
  Lines lines;
  bool inside = false;
  const std::regex tag("<(/?)(interface|method|signal|property|arg|annotation)\\b([^>]*)>");
  for (auto match = std::sregex_iterator(text.begin(), text.end(), tag);
       match != std::sregex_iterator(); ++match) {
    const std::string kind = (*match)[2];
    const std::string rest = (*match)[3];
    if (kind == "interface") inside = (*match)[1] == "" && attribute(rest, "name") == interface;
    if (!inside || (*match)[1] == "/" || kind == "interface") continue;
    if (kind == "arg") {
      lines.back() += " " + attribute(rest, "direction") + ":" + attribute(rest, "name") + ":" +
                      attribute(rest, "type");
    } else if (kind == "annotation") {
      const bool emits = attribute(rest, "name").ends_with(".EmitsChangedSignal");
      // "true" is what the absence of the annotation means.
      if (emits && attribute(rest, "value") != "true")
        lines.back() += " " + attribute(rest, "value");
    } else {
      lines.push_back(kind + " " + attribute(rest, "name") + " " + attribute(rest, "type") +
                      attribute(rest, "access"));
    }
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
  EXPECT_EQ(said.size(), 11u + 4u + 5u);
  EXPECT_EQ(live(dbus::kManagerPath, "org.corral.Corral1.Manager"), said);
}

TEST_F(Interface, ARunIsWhatItsXmlSays) {
  const auto said = documented("org.corral.Corral1.Run");
  EXPECT_EQ(said.size(), 31u);
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
