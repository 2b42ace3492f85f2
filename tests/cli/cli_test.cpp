#include "cli/cli_test.h"

#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cgroup/processes.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral::cli {
namespace {

using harness::eventually;

int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Words joined(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::string slurp(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

pid_t child_named(pid_t parent, const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string pid, comm, state;
    pid_t ppid = 0;
    if (file >> pid >> comm >> state >> ppid && ppid == parent && comm == "(" + name + ")")
      return std::stoi(pid);
  }
  return 0;
}

harness::Child CliTest::start(const Words& argv) {
  std::filesystem::create_directories(temp() / "runtime");
  const std::string files = temp() / std::to_string(started_++);
  const char* script = "out=$1 err=$2; shift 2; exec \"$@\" </dev/null >\"$out\" 2>\"$err\"";
  return harness::Child(
      {.argv = joined({"/bin/sh", "-c", script, "sh", files + ".out", files + ".err"}, argv),
       .environment = {"XDG_RUNTIME_DIR=" + temp() / "runtime", "TERM=xterm"},
       .log = {}});
}

Ran CliTest::collect(harness::Child& child) {
  const auto status = child.wait(harness::kDeadline);
  const std::string files = temp() / std::to_string(started_ - 1);
  if (!status) ADD_FAILURE() << "does not end; it wrote: " << slurp(files + ".err");
  return {status ? shell_status(*status) : -1, slurp(files + ".out"), slurp(files + ".err")};
}

Ran CliTest::run(const Words& argv) {
  harness::Child child = start(argv);
  return collect(child);
}

Ran CliTest::corralctl(Words words) {
  words.insert(words.begin(), harness::corralctl_path());
  return run(words);
}

Words CliTest::embedded(const Words& options, const Words& argv) const {
  Words words{harness::corralctl_path(), "--embedded", "run", "--cgroup-root=" + scratch().path()};
  return joined(joined(joined(words, options), {"--"}), argv);
}

void CliTest::TearDown() {
  EXPECT_TRUE(harness::must(cgroup::members(scratch().group())).empty());
  EXPECT_EQ(harness::directories_below(scratch().path()), Words{});
  const std::string runtime = temp() / "runtime";
  EXPECT_TRUE(!std::filesystem::exists(runtime) || std::filesystem::is_empty(runtime));
}

void HostTest::SetUp() {
  const std::string file = temp() / "address";
  const std::string script =
      "echo \"$CORRAL_BUS_ADDRESS\" >\"$1.new\" && mv \"$1.new\" \"$1\"; exec sleep 600";
  host_.emplace(start(embedded({"--id=host"}, {"/bin/sh", "-c", script, "sh", file})));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file); })) << slurp(temp() / "0.err");
  address_ = slurp(file);
  address_.pop_back();
}

void HostTest::TearDown() {
  if (!host_) return;
  host_->signal(SIGTERM);
  const auto status = host_->wait(harness::kDeadline);
  EXPECT_EQ(status ? shell_status(*status) : -1, 128 + SIGTERM) << slurp(temp() / "0.err");
  CliTest::TearDown();
}

Ran HostTest::ctl(Words words) {
  words.insert(words.begin(), "--bus=" + address_);
  return corralctl(words);
}

void HostTest::detach(const std::string& id, const Words& argv) {
  const Ran ran = ctl(joined({"run", "--detach", "--id", id, "--"}, argv));
  ASSERT_EQ(ran.status, 0) << ran.err;
  ASSERT_EQ(ran.out.substr(0, id.size() + 1), id + " ");
  ASSERT_EQ(ran.out.size(), id.size() + 1 + 32 + 1);
}

nlohmann::json HostTest::ctl_json(Words words) {
  words.push_back("--json=short");
  const Ran ran = ctl(words);
  auto value = nlohmann::json::parse(ran.out, nullptr, false);
  EXPECT_FALSE(value.is_discarded()) << ran.out << ran.err;
  return value;
}

}  // namespace corral::cli
