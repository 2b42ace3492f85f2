#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "harness/child.h"
#include "harness/eventually.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral {
namespace {

using harness::Dict;
using harness::error_of;
using harness::must;

// strace(1) on the living service, from now on, and gone with this object.
class Injection {
 public:
  Injection(const harness::Stack& stack, const std::string& call, const std::string& what)
      : status_("/proc/" + std::to_string(stack.corrald_pid()) + "/status"),
        trace_(stack.temp() / "injected"),
        strace_(
            {.argv = {"strace", "-qq", "-o", trace_, "-e", "trace=" + call, "-e",
                      "inject=" + call + ":" + what, "-p", std::to_string(stack.corrald_pid())}}) {
    if (!harness::eventually([this] { return traced(); })) ADD_FAILURE() << "strace is not there";
  }
  ~Injection() {
    strace_.signal(SIGTERM);  // it lets go of the service before it exits
    EXPECT_TRUE(strace_.wait(harness::kDeadline));
    EXPECT_NE(must(base::read_at(AT_FDCWD, trace_)).find("(INJECTED)"), std::string::npos)
        << "the start makes fewer of these calls";
  }

 private:
  bool traced() const {
    return must(base::read_at(AT_FDCWD, status_)).find("TracerPid:\t0\n") == std::string::npos;
  }
  std::string status_, trace_;
  harness::Child strace_;
};

// A system call of the start, the error it answers with, and which one of the start it is.
struct Fault {
  std::string call;
  std::string error;
  int number;
};
void PrintTo(const Fault& fault, std::ostream* out) {
  *out << fault.call << " " << fault.error << " " << fault.number;
}

class ServiceFault : public testing::TestWithParam<Fault> {
 protected:
  harness::Stack stack_;
};

TEST_P(ServiceFault, FailsOneStartClearlyAndNoOther) {
  const auto& fault = GetParam();
  const std::string ours = harness::kErrorPrefix;
  const Dict options = {{"Environment", std::vector<std::string>{"PATH=/usr/bin:/bin"}},
                        {"GraceUSec", uint64_t{200'000}}};
  must(stack_.client().list_runs());  // so that the service knows who calls
  {
    const Injection injection(stack_, fault.call,
                              "error=" + fault.error + ":when=" + std::to_string(fault.number));
    const auto answer = stack_.client().start_run("faulty", {"sleep", "100"}, options);
    if (!answer) {
      // AccessDenied: it could not be seen whether the caller may.
      EXPECT_THAT(answer.error().name,
                  testing::AnyOf(ours + "StartFailed", ours + "ContainmentUnavailable",
                                 "org.freedesktop.DBus.Error.AccessDenied"));
      EXPECT_THAT(answer.error().message, testing::StartsWith("start run \"faulty\": "));
    }
    // A fault in what is not needed for the start costs nothing: then the run lives, and the fault
    // may be met by its end.
    if (answer) {
      const auto report = stack_.client().end_run("faulty");
      EXPECT_THAT(error_of(report), testing::AnyOf("", "org.freedesktop.DBus.Error.AccessDenied"));
    }
  }
  const auto report = stack_.client().end_run("faulty");
  EXPECT_EQ(report ? harness::value<std::string>(*report, "State") : report.error().name,
            report ? "ended" : ours + "NoSuchRun");
  must(stack_.client().start_run("next", {"true"}, options));
  must(stack_.client().wait_run("next"));
}

std::vector<Fault> faults() {
  std::vector<Fault> all;
  for (int number = 1; number <= 3; ++number) {
    for (const char* error : {"ENOSPC", "EACCES", "EAGAIN"})
      all.push_back({"mkdirat", error, number});
  }
  for (const char* error : {"ENOSPC", "EPERM"}) all.push_back({"fsetxattr", error, 1});
  for (const char* call :
       {"memfd_create", "socket", "connect", "sendmsg", "renameat", "inotify_add_watch"}) {
    for (const char* error : {"EMFILE", "ENOSPC", "EAGAIN"}) all.push_back({call, error, 1});
  }
  for (int number = 1; number <= 24; ++number) all.push_back({"openat", "EMFILE", number});
  // The others are EPOLL_CTL_DEL, which needs no room.
  for (const int number : {1, 3}) all.push_back({"epoll_ctl", "ENOSPC", number});
  return all;
}

INSTANTIATE_TEST_SUITE_P(AtEachStep, ServiceFault, testing::ValuesIn(faults()));

}  // namespace
}  // namespace corral
