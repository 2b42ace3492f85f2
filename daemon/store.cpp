#include "daemon/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "base/file.h"
#include "base/log.h"

namespace corral::daemon {
namespace {

constexpr mode_t kPrivate = 0700;

std::string json_name(const run::Invocation& invocation) {
  return invocation.text() + ".json";
}
std::string exit_name(const run::Invocation& invocation) {
  return invocation.text() + ".exit";
}

Result<UniqueFd> open_or_make(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), kPrivate) < 0 && errno != EEXIST)
    return failed(errno, fmt::format("mkdir {}", name));
  return base::open_at(parent, name, O_RDONLY | O_DIRECTORY);
}

constexpr const char* kParts[] = {"live", "ended", "broken", "."};
constexpr const char* kEnforcement = "enforcement";

Error in_directory(Error error, const std::string& directory) {
  error.message += fmt::format(
      " (in the state directory {}; StateDirectory= or --state-dir names another)", directory);
  return error;
}

void remove_file(const UniqueFd& directory, const std::string& name) {
  if (unlinkat(directory.get(), name.c_str(), 0) < 0 && errno != ENOENT)
    log(Level::warning, "{}", failed(errno, fmt::format("remove {}", name)).message);
}

struct CloseDir {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::vector<std::string> names_in(const UniqueFd& directory) {
  std::vector<std::string> names;
  // Opened anew: a duplicate would share its offset with the next reader.
  auto fd = base::open_at(directory.get(), ".", O_RDONLY | O_DIRECTORY);
  if (!fd) return names;
  const std::unique_ptr<DIR, CloseDir> stream(fdopendir(fd->get()));
  if (stream == nullptr) return names;
  (void)fd->release();  // the stream closes it
  while (const dirent* entry = readdir(stream.get())) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace

Store::Store(UniqueFd live, UniqueFd ended, UniqueFd broken, UniqueFd top)
    : live_(std::move(live)),
      ended_(std::move(ended)),
      broken_(std::move(broken)),
      top_(std::move(top)) {}

Result<Store> Store::open(const std::string& directory, std::chrono::microseconds sync_delay) {
  auto top = open_or_make(AT_FDCWD, directory);
  if (!top) return top.error();
  std::array<UniqueFd, 4> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    auto part = open_or_make(top->get(), kParts[i]);
    if (!part) return in_directory(part.error(), directory);
    parts[i] = std::move(*part);
  }
  auto& [live, ended, broken, again] = parts;
  if (faccessat(live.get(), ".", W_OK, AT_EACCESS) < 0)
    return failed(errno, fmt::format("write to {}/live", directory));
  Store store(std::move(live), std::move(ended), std::move(broken), std::move(again));
  store.syncer_ = std::make_unique<Syncer>(std::move(*top), sync_delay);
  return store;
}

Result<void> Store::write_stub(const run::Record& record) {
  auto written = base::replace_at(live_.get(), json_name(record.invocation), run::to_json(record));
  if (written) syncer_->changed();
  return written;
}

Result<UniqueFd> Store::make_exit_file(const run::Invocation& invocation) {
  return base::open_at(live_.get(), exit_name(invocation), O_WRONLY | O_CREAT | O_EXCL);
}

std::optional<run::Exit> Store::read_exit(const run::Invocation& invocation) const {
  auto text = base::read_at(live_.get(), exit_name(invocation));
  if (!text || text->empty()) return std::nullopt;
  auto exit = run::parse_exit(*text);
  if (!exit) return std::nullopt;
  return *exit;
}

void Store::drop_live(const run::Invocation& invocation) {
  remove_file(live_, json_name(invocation));
  remove_file(live_, exit_name(invocation));
  syncer_->changed();
}

Result<void> Store::write_report(const run::Status& status) {
  const auto invocation = run::Invocation::parse(status.report.invocation);
  if (!invocation)
    return Error{fmt::format("store the report: bad invocation \"{}\"", status.report.invocation),
                 EINVAL};
  auto written = base::replace_at(ended_.get(), json_name(*invocation), run::to_json(status));
  if (written) drop_live(*invocation);
  return written;
}

void Store::forget(const run::Invocation& invocation) {
  remove_file(ended_, json_name(invocation));
  syncer_->changed();
}

template <typename T>
std::vector<T> Store::read_all(const UniqueFd& directory, Result<T> (*parse)(std::string_view)) {
  std::vector<T> all;
  for (const auto& name : names_in(directory)) {
    if (!name.ends_with(".json")) continue;
    auto text = base::read_at(directory.get(), name);
    auto value = text ? parse(*text) : Result<T>(text.error());
    if (value) {
      all.push_back(std::move(*value));
    } else {
      set_aside(directory, name, value.error());
    }
  }
  return all;
}

void Store::set_aside(const UniqueFd& directory, const std::string& name, const Error& why) {
  log(Level::warning, "set aside {} in broken/: {}", name, why.message);
  if (renameat(directory.get(), name.c_str(), broken_.get(), name.c_str()) < 0)
    log(Level::warning, "{}", failed(errno, fmt::format("set aside {}", name)).message);
}

std::vector<run::Record> Store::read_stubs() {
  return read_all<run::Record>(live_, run::parse_record);
}

Result<void> Store::write_enforcement(run::Enforcement value) {
  auto written = base::replace_at(top_.get(), kEnforcement, std::string(run::word(value)) + "\n");
  if (written) syncer_->changed();
  return written;
}

std::optional<run::Enforcement> Store::read_enforcement() const {
  auto text = base::read_at(top_.get(), kEnforcement);
  if (!text || !text->ends_with('\n')) return std::nullopt;
  return run::parse_word<run::Enforcement>(std::string_view(*text).substr(0, text->size() - 1));
}

std::vector<run::Status> Store::read_reports() {
  return read_all<run::Status>(ended_, run::parse_status);
}

}  // namespace corral::daemon
