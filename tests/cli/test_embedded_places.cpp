#include <gmock/gmock.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>

#include "cli/cli_test.h"
#include "harness/must.h"
#include "harness/stack.h"

namespace corral::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

// Where the cgroup of an embedded service goes when nobody names a place.
class EmbeddedPlaces : public CliTest {
 protected:
  // `argv` from a process that was moved into that cgroup.
  Ran run_in(const std::string& group, const Words& argv) {
    Words words{"/bin/sh", "-c", "echo 0 >\"$0\"/cgroup.procs && exec \"$@\"", group};
    words.insert(words.end(), argv.begin(), argv.end());
    return run(words);
  }

  // `corralctl --embedded run` of a driver that says its cgroup, by programs that everyone may
  // execute.
  Words embedded_here() {
    const fs::path programs = fs::path(harness::corralctl_path()).parent_path();
    const fs::path copies = temp() / "bin";
    fs::permissions(temp().path(), fs::perms{0755});
    fs::create_directories(copies);
    for (const char* name : {"corralctl", "corrald", "corral-init"})
      if (!fs::exists(copies / name)) fs::copy_file(programs / name, copies / name);
    return {copies / "corralctl",
            "--embedded",
            "run",
            "--",
            "/bin/sh",
            "-c",
            "grep ^0:: /proc/self/cgroup; exit 7"};
  }

  Words as_user(const Words& argv, uid_t user = of_nobody()) {
    const std::string id = std::to_string(user);
    Words words{"/usr/bin/setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"};
    words.insert(words.end(), argv.begin(), argv.end());
    fs::create_directories(temp() / "runtime");
    EXPECT_EQ(chown((temp() / "runtime").c_str(), user, user), 0);
    return words;
  }

  static uid_t of_nobody() { return getpwnam("nobody")->pw_uid; }

  // What the delegation of a cgroup consists of (cgroup-v2.rst, "Model of Delegation").
  static void delegate(const std::string& group, uid_t user = of_nobody()) {
    for (const char* file : {"", "/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control"})
      EXPECT_EQ(chown((group + file).c_str(), user, user), 0) << file;
  }
};

TEST_F(EmbeddedPlaces, IsBelowTheCallersOwnCgroup) {
  const auto group = scratch().make("caller");
  const Ran ran = run_in(group.name(), embedded_here());
  EXPECT_EQ(ran.status, 7) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("0::" + scratch().control_group() + "/caller/corral-"),
                             HasSubstr("/work\n")));
  EXPECT_EQ(harness::directories_below(group.name()), Words{});
  EXPECT_EQ(rmdir(group.name().c_str()), 0);
}

TEST_F(EmbeddedPlaces, MayBeADelegatedCgroupOfAUser) {
  const auto group = scratch().make("user");
  delegate(group.name());
  const Ran ran = run_in(group.name(), as_user(embedded_here()));
  EXPECT_EQ(ran.status, 7) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr(scratch().control_group() + "/user/corral-"));
  EXPECT_EQ(harness::directories_below(group.name()), Words{});
  EXPECT_EQ(rmdir(group.name().c_str()), 0);
}

TEST_F(EmbeddedPlaces, LetAUserAdoptOwnProcessesAndNobodyElses) {
  const auto group = scratch().make("user");
  delegate(group.name());
  const harness::Child roots(harness::Command{.argv = {"sleep", "100"}});
  Words words = embedded_here();
  words.back() =
      "sleep 100 & \"$1\" adopt --id mine $! && \"$1\" status mine | grep -c adopted; "
      "\"$1\" adopt --id other \"$2\"; exit 7";
  words.insert(words.end(), {"sh", words.front(), std::to_string(roots.pid())});
  const Ran ran = run_in(group.name(), as_user(words));
  EXPECT_EQ(ran.status, 7) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("mine "), HasSubstr("\n1\n")));
  EXPECT_THAT(ran.err, HasSubstr("is uid 0's"));
  EXPECT_FALSE(roots.pidfd().exited());
  EXPECT_EQ(harness::directories_below(group.name()), Words{});
  EXPECT_EQ(rmdir(group.name().c_str()), 0);
}

// In a container a user may be a mere number, and dbus-daemon refuses those.
TEST_F(EmbeddedPlaces, IsRefusedToAUserWhomPasswdDoesNotKnow) {
  const uid_t user = 0x7fff'fff0;
  const auto group = scratch().make("user");
  delegate(group.name(), user);
  const Ran ran = run_in(group.name(), as_user(embedded_here(), user));
  EXPECT_EQ(ran.status, 125);
  EXPECT_THAT(ran.err, HasSubstr("user 2147483632 has no entry in passwd(5)"));
  EXPECT_EQ(harness::directories_below(group.name()), Words{});
  EXPECT_EQ(rmdir(group.name().c_str()), 0);
}

TEST_F(EmbeddedPlaces, IsRefusedWithTheRemedyWhereNothingIsDelegated) {
  const auto group = scratch().make("other");
  const std::string& path = group.name();
  const auto refused = [&] {
    const Ran ran = run_in(path, as_user(embedded_here()));
    EXPECT_EQ(ran.status, 125);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, AllOf(HasSubstr("/other"),
                               HasSubstr("Permission denied; the cgroup is not delegated"),
                               HasSubstr("Delegate=yes")));
  };
  refused();
  // Directories can be made here, and nothing can get into them.
  ASSERT_EQ(chown(path.c_str(), of_nobody(), of_nobody()), 0);
  refused();
  EXPECT_EQ(rmdir(path.c_str()), 0);
}

TEST_F(EmbeddedPlaces, NeedsTheRightToItsOwnCgroupEvenWhereAnotherIsNamed) {
  const auto outside = scratch().make("outside");
  const auto inside = scratch().make("inside");
  delegate(inside.name());
  Words words = embedded_here();
  words.insert(words.begin() + 3, "--cgroup-root=" + inside.name());
  const Ran ran = run_in(outside.name(), as_user(words));
  EXPECT_EQ(ran.status, 125);
  EXPECT_THAT(ran.err, HasSubstr("Permission denied"));
  EXPECT_EQ(harness::directories_below(inside.name()), Words{});
  for (const auto* group : {&outside, &inside}) EXPECT_EQ(rmdir(group->name().c_str()), 0);
}

// As a container has it: cgroup2 is mounted inside of the namespace and shows it alone.
TEST_F(EmbeddedPlaces, MayBeTheRootOfACgroupNamespace) {
  const auto group = scratch().make("container");
  const char* inside =
      "old=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo); "
      "mount -t cgroup2 none \"$1\" && umount \"$old\" && mount --move \"$1\" \"$old\" && "
      "shift && exec \"$@\"";
  const std::string place = temp() / "place";
  fs::create_directories(place);
  Words words{"/usr/bin/unshare", "-C", "-m", "/bin/sh", "-c", inside, "sh", place};
  const Words command = embedded_here();
  words.insert(words.end(), command.begin(), command.end());
  const Ran ran = run_in(group.name(), words);
  EXPECT_EQ(ran.status, 7) << ran.err;
  EXPECT_EQ(ran.out.substr(0, 11), "0::/corral-") << ran.out;
  EXPECT_EQ(harness::directories_below(group.name()), Words{});
  EXPECT_EQ(rmdir(group.name().c_str()), 0);
}

TEST_F(EmbeddedPlaces, IsRefusedWhereTheCgroupsAreMountedReadOnly) {
  const auto group = scratch().make("container");
  const char* inside =
      "old=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo); "
      "mount -o bind,remount,ro \"$old\" && exec \"$@\"";
  Words words{"/usr/bin/unshare", "-m", "/bin/sh", "-c", inside, "sh"};
  const Words command = embedded_here();
  words.insert(words.end(), command.begin(), command.end());
  const Ran ran = run_in(group.name(), words);
  EXPECT_EQ(ran.status, 125) << ran.out;
  EXPECT_THAT(ran.err, HasSubstr("Read-only file system; give the container a writable"));
  EXPECT_EQ(rmdir(group.name().c_str()), 0);
}

// A part of the hierarchy at the place of the whole, as a container without a cgroup namespace has
// it.
TEST_F(EmbeddedPlaces, MayBeSeenThroughAMountOfAPart) {
  const auto group = scratch().make("container");
  const char* inside =
      "old=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo); "
      "mount --bind \"$1\" \"$2\" && umount \"$old\" && mount --move \"$2\" \"$old\" && "
      "shift 2 && exec \"$@\"";
  const std::string place = temp() / "place";
  fs::create_directories(place);
  Words words{"/usr/bin/unshare", "-m", "/bin/sh", "-c", inside, "sh", group.name(), place};
  const Words command = embedded_here();
  words.insert(words.end(), command.begin(), command.end());
  const Ran ran = run_in(group.name(), words);
  EXPECT_EQ(ran.status, 7) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("/container/corral-"));
  EXPECT_EQ(harness::directories_below(group.name()), Words{});
  EXPECT_EQ(rmdir(group.name().c_str()), 0);
}

}  // namespace
}  // namespace corral::cli
