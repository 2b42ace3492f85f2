#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/with_the_service.h"

namespace corral::cli {
namespace {

using nlohmann::json;

// With a driver that waits for `go` and exits with 7.
class AReport : public WithTheService {
 protected:
  void put(const std::string& text) { std::ofstream(temp() / "report") << text; }
  std::string text() const { return slurp_file(temp() / "report"); }
  // The files of the directory that begin with a dot.
  Words hidden() const {
    Words names;
    for (const auto& entry : std::filesystem::directory_iterator(temp().path()))
      if (entry.path().filename().native().starts_with('.'))
        names.push_back(entry.path().filename());
    return names;
  }
  // The status of the run whose report goes to `file`.
  int run_to(const std::string& file) {
    harness::Child child = start({"--report=" + file}, kWaitForGo);
    release();
    return code(status_of(child));
  }
};

TEST_F(AReport, TakesThePlaceOfAnOldOneWhenItIsWhole) {
  put("old\n");
  std::filesystem::permissions(temp() / "report", std::filesystem::perms{0640});
  std::filesystem::create_hard_link(temp() / "report", temp() / "link");
  harness::Child child = start({"--report=report"}, kWaitForGo);
  EXPECT_EQ(text(), "old\n");
  release();
  EXPECT_EQ(code(status_of(child)), 7) << log();
  EXPECT_EQ(report()["DriverStatus"], 7);
  EXPECT_EQ(slurp_file(temp() / "link"), "old\n") << "written over, not replaced";
  EXPECT_EQ(std::filesystem::status(temp() / "report").permissions(), std::filesystem::perms{0640});
  EXPECT_EQ(hidden(), Words{});
}

TEST_F(AReport, OfARunThatDoesNotStartLeavesTheOldOne) {
  put("old\n");
  harness::Child child = start({}, kWaitForGo);
  const std::string file = temp() / "report";
  const Ran taken =
      run_script("plain", command({"run --id=r --report=" + file + " -- true; echo $?"}));
  EXPECT_EQ(taken.out, "125\n") << taken.err;
  const std::string nowhere = harness::corralctl_path() + " --bus=unix:path=/nonexistent";
  EXPECT_EQ(run_script("plain", nowhere + " run --report=" + file + " -- true; echo $?").out,
            "125\n");
  EXPECT_EQ(text(), "old\n");
  release();
  EXPECT_EQ(code(status_of(child)), 7);
}

TEST_F(AReport, OfACorralctlThatIsKilledIsNoFile) {
  harness::Child child = start({"--report=report"}, "exec sleep 600");
  child.kill();
  ASSERT_TRUE(ended());
  EXPECT_FALSE(std::filesystem::exists(temp() / "report"));
  EXPECT_EQ(hidden(), Words{});
}

TEST_F(AReport, IsWrittenToWhatIsNoFileOfItsOwn) {
  EXPECT_EQ(run_to("/dev/stdout"), 7);  // with standard error in the same file
  EXPECT_EQ(json::parse(log())["DriverStatus"], 7);
  EXPECT_EQ(run_script("plain", "mkfifo f; cat f >got & " +
                                    command({"run --report=f -- sh -c 'exit 3'"}) +
                                    "; echo $?; wait; grep -c DriverStatus got; test -p f; echo $?")
                .out,
            "3\n1\n0\n");
  EXPECT_EQ(run_script("plain", "echo old >to; ln -s to l; " + command({"run --report=l -- true"}) +
                                    "; test -L l && grep -c -e old -e DriverStatus to")
                .out,
            "1\n");
  EXPECT_EQ(
      run_script("plain", command({"run --report=/dev/stdout -- echo first"}) + " | head -2").out,
      "first\n{\n");
}

// What a user had ready in a directory of their own must not become a program of ours.
TEST_F(AReport, KeepsOwnerAndPermissionsAndNothingThatLendsThem) {
  put("old\n");
  const std::string file = temp() / "report";
  ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(file.c_str(), 06755), 0);
  EXPECT_EQ(run_to(file), 7);
  struct stat now {};
  ASSERT_EQ(stat(file.c_str(), &now), 0);
  EXPECT_EQ(now.st_mode & 07777, 0755U);
  EXPECT_EQ(now.st_uid, 65534U);
  EXPECT_EQ(report()["DriverStatus"], 7);
}

TEST_F(AReport, IsWrittenBehindWhatAnInheritedFdHas) {
  EXPECT_EQ(run_script("plain", "exec 3>f; echo first >&3; " +
                                    command({"run --report=/dev/fd/3 -- sh -c 'echo second >&3'"}) +
                                    "; head -3 f")
                .out,
            "first\nsecond\n{\n");
}

TEST_F(AReport, ThatCannotBeWrittenIsToldAndHidesNoStatus) {
  EXPECT_EQ(run_to("/dev/full"), 7);
  EXPECT_EQ(log(), "corralctl: run r: write to /dev/full: No space left on device\n");
  const auto killed =
      run_script("plain", command({"run --report=/dev/full -- sh -c 'kill $$'"}) + "; echo $?");
  EXPECT_EQ(killed.out, "143\n");
}

// As one that was put into a container: a mount point cannot be renamed over.
TEST_F(AReport, IsWrittenOverWhereNothingCanTakeItsPlace) {
  const Ran ran = run_script(
      "plain", "echo old >a; touch b; unshare -m --propagation=private sh -c 'mount --bind a b; " +
                   command({"run --report=b -- true"}) +
                   "'; echo $?; grep -c -e old -e DriverStatus a; ls -A");
  EXPECT_EQ(ran.out, "0\n1\na\nb\nerr\nout\nscript\n") << ran.err;
}

}  // namespace
}  // namespace corral::cli
