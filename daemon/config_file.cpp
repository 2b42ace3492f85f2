#include "daemon/config_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "base/escape.h"
#include "base/parse.h"
#include "daemon/config_line.h"
#include "daemon/setting.h"

namespace corral::daemon {
namespace {

namespace fs = std::filesystem;

// Whether there is something of that name. What lies where this user may not even look is not meant
// for it: $HOME is another's after setpriv(1), say.
bool is_there(const std::string& path, std::vector<std::string>& problems) {
  std::error_code error;
  const auto status = fs::symlink_status(path, error);
  const bool absent = !fs::exists(status) || error == std::errc::permission_denied ||
                      error == std::errc::not_a_directory;
  if (error && !absent)
    problems.push_back(failed(error.value(), fmt::format("open {}", path)).message);
  return !error && !absent;
}

// The drop-ins of one directory, by name; those that are there already mask them.
void add_drop_ins(const std::string& directory, bool own, std::map<std::string, ConfigFile>& found,
                  std::vector<std::string>& problems) {
  if (!is_there(directory, problems)) return;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with('.') || !name.ends_with(".conf")) continue;
    std::error_code ignored;  // what cannot be looked at cannot be read, and that is said then
    if (!entry->is_directory(ignored)) found.try_emplace(name, entry->path().string(), own);
  }
  if (error) problems.push_back(failed(error.value(), fmt::format("open {}", directory)).message);
}

void append(std::vector<ConfigFile>& files, std::map<std::string, ConfigFile> drop_ins) {
  for (auto& [name, file] : drop_ins) files.push_back(std::move(file));
}

// Why there is no such key here.
std::string unknown(const std::string& section, const std::string& key) {
  if (section.empty()) return "stands in no section";
  std::vector<std::string_view> keys;
  for (const Setting& setting : kSettings) {
    if (setting.key == key) return fmt::format("belongs into [{}]", setting.section);
    if (setting.section == section) keys.push_back(setting.key);
  }
  return fmt::format("unknown key; [{}] has {}", section, fmt::join(keys, ", "));
}

std::string unknown_section(const std::string& name) {
  std::vector<std::string> sections;
  for (const Setting& setting : kSettings) {
    const auto section = fmt::format("[{}]", setting.section);
    if (sections.empty() || sections.back() != section) sections.push_back(section);
  }
  return fmt::format("[{}]: unknown section; there are {}", base::escape(name),
                     fmt::join(sections, ", "));
}

// Where the reading of a file has come to.
class Reader {
 public:
  Reader(const ConfigFile& file, Configuration& into) : file_(file), into_(into), aside_(into) {}

  // What is wrong with the line, which is the one at `place`; "" for nothing.
  std::string take(std::string_view text, const std::string& place) {
    const auto line = parse_line(text);
    // What stands in a section that cannot be told is no further fault.
    if (!line && base::trimmed(text).starts_with('[')) skipping_ = true;
    if (!line) return fmt::format("\"{}\": {}", base::escape(text), line.error().message);
    if (line->kind == ConfigLine::Kind::section) return enter(line->name);
    if (line->kind == ConfigLine::Kind::assignment && !skipping_) return assign(*line, place);
    return "";
  }

 private:
  std::string enter(const std::string& name) {
    section_ = name;
    skipping_ = !is_section(name);
    return skipping_ ? unknown_section(name) : "";
  }

  std::string assign(const ConfigLine& line, const std::string& place) {
    const std::string shown = fmt::format("{}=", base::escape(line.name));
    const Setting* setting = find_setting(section_, line.name);
    if (setting == nullptr) return fmt::format("{}: {}", shown, unknown(section_, line.name));
    // What is another service's has to be right all the same.
    Configuration& target = !file_.own && setting->section == "Service" ? aside_ : into_;
    const auto assigned = target.assign(*setting, line.value, place);
    if (assigned) return "";
    return fmt::format("{}{}: {}", shown, base::escape(line.value), assigned.error().message);
  }

  const ConfigFile& file_;
  Configuration& into_;
  Configuration aside_;
  std::string section_;
  bool skipping_ = false;
};

}  // namespace

std::vector<ConfigFile> config_files(const Instance& instance, std::vector<std::string>& problems) {
  std::vector<ConfigFile> files;
  std::map<std::string, ConfigFile> drop_ins;
  for (const auto& [directory, own] : instance.directories) {
    const std::string path = directory + "/corral/corrald.conf";
    if (files.empty() && is_there(path, problems)) files.push_back({path, own});
    add_drop_ins(path + ".d", own, drop_ins, problems);
  }
  append(files, std::move(drop_ins));
  return files;
}

std::vector<ConfigFile> config_files(const std::string& file, std::vector<std::string>& problems) {
  std::vector<ConfigFile> files = {{file, true}};
  std::map<std::string, ConfigFile> drop_ins;
  add_drop_ins(file + ".d", true, drop_ins, problems);
  append(files, std::move(drop_ins));
  return files;
}

void read_config(const ConfigFile& file, std::string_view text, Configuration& into,
                 std::vector<std::string>& problems) {
  Reader reader(file, into);
  for (unsigned number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto place = fmt::format("{}:{}", file.path, number);
    std::string problem = reader.take(text.substr(0, end), place);
    if (!problem.empty()) problems.push_back(fmt::format("{}: {}", place, problem));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace corral::daemon
